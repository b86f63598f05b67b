package rrdtool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"time"
)

// A command is one run of one verb.
type command struct {
	*Env
	ctx  context.Context // of Run
	out  *bufio.Writer   // Stdout
	told time.Time       // the present as it was last told

	exact bool     // what is printed is for programs: see Frames
	empty []string // folders of mkdir, in pipe mode
}

// printf prints to Stdout, which is buffered: an error comes back when it is
// flushed, or from a Write.
func (c *command) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// now returns the present, later each time: two samples at N in one command are
// two samples.
func (c *command) now() time.Time {
	t := c.Now().Truncate(time.Microsecond)
	if !t.After(c.told) {
		t = c.told.Add(time.Microsecond)
	}
	c.told = t
	return t.In(c.Location)
}

// daemon answers --daemon: what the command needs is then asked of a server.
func (c *command) daemon(addr string) error {
	if addr == "" {
		return nil
	}
	if c.Connect == nil {
		return errors.New("--daemon is not built into this rondo yet")
	}
	s, err := c.Connect(c.ctx, addr)
	if err != nil {
		return err
	}
	env := *c.Env
	env.Store = s
	if p, ok := s.(placed); ok {
		env.Dir = p.Dir()
	}
	c.Env = &env
	return nil
}
