// Package cli is what the commands of rondo share: the process that they run in, the flags that all
// of them have, the configuration file, mistakes of usage, kinds of values, terminal, progress, the
// choice of series, and completion. It knows no command.
package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
)

// A Factory is what commands are made with: the process, and the flags that every command has.
type Factory struct {
	*Process
	TargetFlags
	flags *pflag.FlagSet // nil until Flags is called
}

// Target returns the database or server that a command works on.
func (c *Factory) Target() backend.Target {
	return c.NewTarget(c.TargetFlags)
}

// Flags returns the flags that every command has.
func (c *Factory) Flags() *pflag.FlagSet {
	if c.flags == nil {
		c.flags = pflag.NewFlagSet("rondo", pflag.ContinueOnError)
		c.addTo(c.flags)
	}
	return c.flags
}

// TakeFlags takes the flags of every command out of arguments that cobra cannot read, because the
// others are rrdtool's. Unless everywhere is set, it ends at the first of the others.
func (c *Factory) TakeFlags(args []string, everywhere bool) ([]string, error) {
	var rest []string
	for len(args) > 0 && args[0] != "--" {
		name, value, whole := strings.Cut(strings.TrimPrefix(args[0], "--"), "=")
		flag := c.Flags().Lookup(name)
		switch {
		case flag == nil || !strings.HasPrefix(args[0], "--"):
			if !everywhere {
				return args, nil
			}
			rest, args = append(rest, args[0]), args[1:]
			continue
		case !whole && len(args) == 1:
			return nil, fmt.Errorf("option '%s' requires an argument", args[0])
		case !whole:
			value, args = args[1], args[1:]
		}
		args = args[1:]
		if err := flag.Value.Set(value); err != nil {
			return nil, err
		}
	}
	return append(rest, args...), nil
}
