package cli

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
)

// Factory are the flags that every command has.
type Factory struct {
	*Process
	TargetFlags
}

// Target returns the database or server that a command works on.
func (c *Factory) Target() backend.Target {
	return c.NewTarget(c.TargetFlags)
}

// TakeFlags takes the flags of every command out of the arguments of a verb.
func (c *Factory) TakeFlags(args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		if args[0] == "--" {
			return append(rest, args...), nil
		}
		n, err := c.takeFlag(args)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			rest, n = append(rest, args[0]), 1
		}
		args = args[n:]
	}
	return rest, nil
}

// LeadingFlags takes the flags of every command off the front of args. cobra leaves flags that
// stand before the command there.
func (c *Factory) LeadingFlags(args []string) ([]string, error) {
	for len(args) > 0 {
		n, err := c.takeFlag(args)
		if err != nil || n == 0 {
			return args, err
		}
		args = args[n:]
	}
	return args, nil
}

// takeFlag takes a flag of every command off the front of args. It returns how many arguments the
// flag occupies, or 0 if args begin with anything else.
func (c *Factory) takeFlag(args []string) (int, error) {
	if !strings.HasPrefix(args[0], "--") {
		return 0, nil
	}
	for _, f := range c.List() {
		name, value := "--"+f.Name, f.Value
		if v, ok := strings.CutPrefix(args[0], name+"="); ok {
			*value = v
			return 1, nil
		}
		if args[0] != name {
			continue
		}
		if len(args) == 1 {
			return 0, fmt.Errorf("option '%s' requires an argument", name)
		}
		*value = args[1]
		return 2, nil
	}
	return 0, nil
}
