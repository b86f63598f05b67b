package verbs

import (
	"context"
	"slices"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// RunDirectly runs a verb of rrdtool without building the commands, which would take longer than
// most verbs take. It returns false, and has done nothing, if the arguments are anything else, such
// as a mistake or a call for help.
func RunDirectly(ctx context.Context, p *cli.Process) (code int, done bool) {
	c := &cli.Factory{Process: p}
	args, err := c.LeadingFlags(p.Args[1:])
	if err != nil || len(args) == 0 {
		return 0, false
	}
	verb, plain := args[0], args[0] == "rrdtool"
	if plain {
		args, err = c.LeadingFlags(args[1:])
	} else {
		args, err = c.TakeFlags(args[1:])
		args = append([]string{verb}, args...)
	}
	switch {
	case err != nil:
		return 0, false
	case plain:
	case !slices.Contains(rrdtool.Verbs(), verb) && !slices.Contains(rrdtool.OwnVerbs(), verb), isHelp(args[1:]):
		return 0, false
	}
	return Run(ctx, p, c.Target(), args, plain), true
}
