package main

import (
	"context"
	"slices"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// runDirectly runs a verb of rrdtool without building the commands, which would take longer than
// most verbs take. It returns false, and has done nothing, if the arguments are anything else, such
// as a mistake or a call for help.
func runDirectly(ctx context.Context, p *process) (code int, done bool) {
	c := &common{process: p}
	args, err := c.leadingFlags(p.args[1:])
	if err != nil || len(args) == 0 {
		return 0, false
	}
	verb, plain := args[0], args[0] == "rrdtool"
	if plain {
		args, err = c.leadingFlags(args[1:])
	} else {
		args, err = c.takeFlags(args[1:])
		args = append([]string{verb}, args...)
	}
	switch {
	case err != nil:
		return 0, false
	case plain:
	case !slices.Contains(rrdtool.Verbs(), verb) && !slices.Contains(rrdtool.OwnVerbs(), verb), isHelp(args[1:]):
		return 0, false
	}
	return runVerb(ctx, p, c.target(), args, plain), true
}
