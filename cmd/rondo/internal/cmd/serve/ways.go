package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/receivers"
)

// A way is the flags of one protocol.
type way struct {
	protocol receivers.Protocol
	address  *string
	options  map[string]func() []string // by flag
}

func addProtocol(f *pflag.FlagSet, p receivers.Protocol) way {
	w := way{protocol: p, options: make(map[string]func() []string)}
	usage := fmt.Sprintf("listen `address` of %s", p.Name)
	switch {
	case p.Usage != "":
		usage = p.Usage
	case p.Network == receivers.HTTP:
		usage = fmt.Sprintf("whether --http takes %s: `on|off`", p.Name)
	}
	w.address = f.String(p.Name, p.Address, usage)
	if p.Network == receivers.HTTP && p.Address == "" {
		f.Lookup(p.Name).DefValue = off
	}
	for _, o := range p.Flags {
		if o.Repeat {
			var def []string
			if o.Default != "" {
				def = []string{o.Default}
			}
			v := f.StringSlice(o.Name, def, o.Usage)
			w.options[o.Name] = func() []string { return *v }
			continue
		}
		if o.Switch {
			v := f.Bool(o.Name, o.Default == "true", o.Usage)
			w.options[o.Name] = func() []string { return []string{strconv.FormatBool(*v)} }
			continue
		}
		v := f.String(o.Name, o.Default, o.Usage)
		w.options[o.Name] = func() []string { return []string{*v} }
	}
	return w
}

// share gives each protocol the flags of others that it shares.
func share(ways []way) {
	for _, w := range ways {
		for _, o := range w.protocol.Shares {
			for _, owner := range ways {
				if slices.ContainsFunc(owner.protocol.Flags, func(f receivers.Flag) bool { return f.Name == o.Name }) {
					w.options[o.Name] = owner.options[o.Name]
				}
			}
		}
	}
}

// off is the value of the flag of a protocol over the HTTP port that is not to be received.
const off = "off"

// listens returns the address of a protocol; empty: it is off.
func (w *way) listens() (string, error) {
	if w.protocol.Network != receivers.HTTP {
		return *w.address, nil
	}
	switch *w.address {
	case receivers.On, "true":
		return receivers.On, nil
	case off, "false", "":
		return "", nil
	}
	return "", fmt.Errorf("--%s %s: want on or off", w.protocol.Name, *w.address)
}

// A section is a part of the list in serve --help. A flag belongs to the first section that
// contains its name or a prefix of its name.
type section struct {
	title string
	names []string
}

// sections returns the sections in order. Protocols that listen by default come before the others.
func sections() []section {
	all := []section{{"HTTP: RPC, metrics, health, a page", []string{"http", "web"}}}
	var more []section
	for _, p := range Protocols {
		part := section{cmp.Or(p.Title, p.Name), []string{p.Name}}
		if p.Address != "" {
			all = append(all, part)
		} else {
			more = append(more, part)
		}
	}
	all = append(all, section{"rrdcached's protocol: rrdtool --daemon, librrd", []string{"rrdcached"}})
	return append(append(all, more...), []section{
		{"Storage", []string{"db", "config", "socket", "sync", "gather", "reorder", "memory", "backup"}},
		{"Rules and alerts", []string{"rule", "alertmanager", "alert", "external"}},
		{"A node of a cluster", []string{"cluster", "node", "advertise", "zone", "spool"}},
		{"Limits", []string{"max", "sender"}},
		{"Log", []string{"log"}},
	}...)
}

// helpWidth is the column at which lines of the list end.
const helpWidth = 110

// serveUsage prints the flags of serve by section.
func serveUsage(cmd *cobra.Command) error {
	all := append(sections(), section{title: "Other"})
	lists := make([]pflag.FlagSet, len(all))
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "daemon" || slices.Contains(cli.CredentialKeys, f.Name) {
			return
		}
		i := slices.IndexFunc(all, func(s section) bool {
			return slices.ContainsFunc(s.names, func(name string) bool { return f.Name == name || strings.HasPrefix(f.Name, name+"-") })
		})
		if i < 0 {
			i = len(all) - 1
		}
		lists[i].SortFlags = false
		lists[i].AddFlag(f)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n", cmd.UseLine())
	for i := range all {
		if lists[i].HasFlags() { // otherwise they stand with another protocol's
			fmt.Fprintf(&b, "\n%s:\n%s", all[i].title, lists[i].FlagUsagesWrapped(helpWidth))
		}
	}
	_, err := fmt.Fprint(cmd.OutOrStderr(), b.String())
	return err
}
