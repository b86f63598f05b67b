package core

import "sync/atomic"

// A currentLog is the log that a store uses now. A change of the role replaces it, while the
// appender's mu is held.
type currentLog struct{ p atomic.Pointer[Log] }

// get returns the log; nil: none was opened.
func (c *currentLog) get() Log {
	if l := c.p.Load(); l != nil {
		return *l
	}
	return nil
}

func (c *currentLog) set(l Log) { c.p.Store(&l) }
