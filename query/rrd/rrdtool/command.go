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
	ctx context.Context // the context of Run
	out *bufio.Writer   // Stdout

	exact bool     // print for programs: see Frames
	empty []string // folders that mkdir has made, in pipe mode
}

// printf prints to Stdout. Stdout is buffered, so an error is returned by a later Write or Flush.
func (c *command) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.out, format, args...) }

// now returns the present, and a later time in each call.
func (c *command) now() time.Time { return c.Now().In(c.Location) }

// daemon applies the option --daemon: the command uses the store of the server at addr.
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
