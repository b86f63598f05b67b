package rrdcached

import (
	"cmp"

	"github.com/rondo-db/rondo/engine/core"
)

// flushSeries stores the samples of a series that the reorder window holds back.
func (c *conn) flushSeries(cmd *command, e *alias, file string) {
	if c.s.o.Held {
		c.drain()
		if err := c.s.o.Store.Flush(c.s.life, []core.Ref{e.ref}); err != nil {
			c.fail(cmd, explain(err))
			return
		}
	}
	c.slot("0 Successfully flushed " + file + ".")
}

// flushAll stores the samples of all series that the reorder window holds back, and then answers.
func (c *conn) flushAll(cmd *command) {
	if c.s.o.Held {
		c.drain()
		if err := c.s.letAllGo(); err != nil {
			c.fail(cmd, explain(err))
			return
		}
	}
	c.slot("0 Started flush.")
}

// letAllGo stores the samples of all series that the reorder window holds back. A pass goes through
// all series, so all callers that arrive during one pass share the next.
func (s *Server) letAllGo() error {
	begun := s.passes.Load()
	s.letGo.Lock()
	defer s.letGo.Unlock()
	if s.passes.Load() > begun { // another caller's pass has begun after this call, and has ended
		return s.passErr
	}
	s.passes.Add(1)
	s.passErr = s.pass()
	return s.passErr
}

// pass goes through all series once.
func (s *Server) pass() error {
	const many = 1024
	var refs []core.Ref
	for series, err := range s.o.Store.Select(s.life, core.Query{Order: core.ByPath}) {
		if err != nil {
			return err
		}
		if refs = append(refs, series.Ref); len(refs) == many {
			if err := cmp.Or(s.life.Err(), s.o.Store.Flush(s.life, refs)); err != nil {
				return err
			}
			refs = refs[:0]
		}
	}
	return s.o.Store.Flush(s.life, refs)
}
