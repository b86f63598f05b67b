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

// nameLike prints, behind rrdtool's message of a fetch that failed, which series may have been
// meant. It prints nothing if the series exists, or if the arguments or the environment name a
// daemon of another database.
func nameLike(ctx context.Context, c *cli.Factory, args []string) {
	names, owed := rrdtool.Positional("fetch", args)
	daemon := func(arg string) bool { return strings.HasPrefix(arg, "-d") || strings.HasPrefix(arg, "--d") }
	if owed || len(names) == 0 || c.Getenv("RRDCACHED_ADDRESS") != "" || slices.ContainsFunc(args, daemon) {
		return
	}
	if _, err := os.Stat(names[0]); err == nil {
		return
	}
	o, err := c.Target().Must(ctx, core.Options{ReadOnly: true})
	if err != nil {
		return // the verb has said so
	}
	defer func() { _ = o.Close() }() // nothing was written
	if p, err := cli.NewPicker(c, o, nil); err == nil {
		if _, err = p.One(ctx, names[0]); errors.Is(err, core.ErrNotFound) {
			_, _ = fmt.Fprintln(c.Stderr, err) // the message before it says what is wrong
		}
	}
}
