package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
)

const flushcachedUsage = `NAME… [OPTIONS]
  Apply the samples of series that are held to be put in order.
  -d, --daemon ADDRESS    ask the server at ADDRESS`

var flushcachedOptions = optionsIn(flushcachedUsage)

// A flusher is a Store that holds samples back, such as a [core.Store].
type flusher interface {
	Flush(ctx context.Context, refs []core.Ref) error
}

// flushcached stores the samples of series that the store holds back.
func (c *command) flushcached(args []string) error {
	args, err := parse(args, flushcachedOptions, func(_, arg string) error { return c.daemon(arg) })
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return errors.New("Usage: rrdtool flushcached [--daemon|-d <addr>] <file> [<file> ...]")
	}
	refs := make([]core.Ref, len(args))
	for i, name := range args {
		if refs[i], err = c.lookup(name); err != nil {
			return err
		}
	}
	if f, ok := c.Store.(flusher); ok {
		return f.Flush(c.ctx, refs)
	}
	return nil
}
