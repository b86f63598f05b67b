package verbs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// ofOne are the verbs whose first argument is a series that there is.
var ofOne = []string{"fetch", "first", "last", "lastupdate", "info", "dump", "update", "updatev", "tune", "alter", "resize"}

// hint prints, behind rrdtool's message of a verb that failed, what rondo has to say about it. If
// that cannot be printed, the message before it says what is wrong.
func hint(ctx context.Context, c *cli.Factory, verb string, args []string) {
	names, owed := rrdtool.Positional(verb, args)
	switch {
	case verb == "list" && slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--json") || a == "-o" }):
		_, _ = fmt.Fprintln(c.Stderr, "list prints names as rrdtool does; rondo query -o json and the RPC's List answer in JSON")
	case !slices.Contains(ofOne, verb) || owed || len(names) == 0:
	case verb == "fetch" && len(names) == 1:
		_, _ = fmt.Fprintf(c.Stderr, "name the function of the rows, too: rondo fetch %s AVERAGE, or MIN, MAX, LAST; rondo show %[1]s prints the newest\n", cli.Quoted(names[0]))
	default:
		nameLike(ctx, c, names[0], args)
	}
}

// nameLike prints, behind rrdtool's message of a verb that failed, which series may have been
// meant. It prints nothing if the series exists, or if the arguments or the environment name a
// daemon of another database.
func nameLike(ctx context.Context, c *cli.Factory, name string, args []string) {
	daemon := func(arg string) bool { return strings.HasPrefix(arg, "-d") || strings.HasPrefix(arg, "--d") }
	if c.Getenv("RRDCACHED_ADDRESS") != "" || slices.ContainsFunc(args, daemon) {
		return
	}
	if _, err := os.Stat(name); err == nil {
		return
	}
	o, err := c.Target().Must(ctx, core.Options{ReadOnly: true})
	if err != nil {
		return // the verb has said so
	}
	defer func() { _ = o.Close() }() // nothing was written
	if p, err := cli.NewPicker(c, o); err == nil {
		if _, err = p.One(ctx, name); errors.Is(err, core.ErrNotFound) {
			_, _ = fmt.Fprintln(c.Stderr, err) // the message before it says what is wrong
		}
	}
}
