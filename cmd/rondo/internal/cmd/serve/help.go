package serve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

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
