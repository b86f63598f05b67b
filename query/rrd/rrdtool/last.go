package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/numeral"
)

const lastUsage = `NAME [OPTIONS]
  -d, --daemon ADDRESS    ask the server at ADDRESS`

const firstUsage = `NAME [OPTIONS]
      --rraindex N        of archive N (0)
  -d, --daemon ADDRESS    ask the server at ADDRESS`

var lastOptions = optionsIn(lastUsage)

var firstOptions = optionsIn(firstUsage)

var errIndex = errors.New("invalid rraindex number")

// lastSecond returns the time of the last update in seconds.
func (c *command) lastSecond(args []string) (int64, error) {
	name, ref, err := c.one(args, lastOptions, "Usage: rrdtool last [--daemon|-d <addr>] <file>")
	if err != nil {
		return 0, err
	}
	t, err := c.Store.Last(ref)
	return t.Unix(), named(name, err)
}

// last prints the time of the last update in seconds, or -1 with an error.
func (c *command) last(args []string) error {
	return c.second(c.lastSecond(args))
}

// first prints the time of the first row of an archive in seconds, or -1 with an error.
func (c *command) first(args []string) error {
	return c.second(c.firstSecond(args))
}

func (c *command) firstSecond(args []string) (int64, error) {
	index := int64(0)
	args, err := parse(args, firstOptions, func(name, arg string) error {
		if name == "rraindex" {
			if index, _, _ = numeral.Scan(arg, 0); index < 0 {
				return errIndex
			}
			return nil
		}
		return c.daemon(arg)
	})
	if err != nil {
		return 0, err
	}
	if len(args) == 0 {
		return 0, errors.New("usage rrdtool first [--rraindex number] [--daemon|-d <addr>] file.rrd")
	}
	ref, err := c.native(args[0])
	if err != nil {
		return 0, err
	}
	series, err := c.Store.Series(ref)
	if err != nil {
		return 0, named(args[0], err)
	}
	last, err := c.Store.Last(ref)
	if err != nil {
		return 0, named(args[0], err)
	}
	d := series.Definition
	if index >= int64(len(d.Archives)) {
		return 0, errIndex
	}
	a := &d.Archives[index]
	step := d.Step * a.PDPs
	t := last.Unix()
	return t - t%step - (a.Rows-1)*step, nil
}

// second prints t, or -1 if there is an error.
func (c *command) second(t int64, err error) error {
	if err != nil {
		t = -1
	}
	c.printf("%d\n", t)
	return err
}

// lastupdate prints the last reading of each data source.
func (c *command) lastupdate(args []string) error {
	name, ref, err := c.one(args, lastOptions, "Usage: rrdtool lastupdate [--daemon|-d <addr>] <file>")
	if err != nil {
		return err
	}
	info, err := c.Store.Info(ref)
	if err != nil {
		return named(name, err)
	}
	sources := info.Definition.Sources
	if c.exact {
		c.printf("%d\n", info.LastUpdate().Unix())
		for i := range sources {
			c.printf("%s %s\n", sources[i].Name, info.Machine.LastReading(&info.State, i))
		}
		return nil
	}
	for i := range sources {
		c.printf(" %s", sources[i].Name)
	}
	c.printf("\n\n%10d:", info.LastUpdate().Unix())
	for i := range sources {
		c.printf(" %s", info.Machine.LastReading(&info.State, i))
	}
	c.printf("\n")
	return nil
}

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
