package serve

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

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
