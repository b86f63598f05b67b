package core

import "sync/atomic"

// A calls counts the calls and batches that are under way in a store, so that Close can wait for
// them.
type calls struct {
	n      atomic.Int64
	closed atomic.Bool
	idle   chan struct{} // gets a message when the last call leaves a closed store; holds one
}

func (c *calls) init() { c.idle = make(chan struct{}, 1) }

// enter counts a call until leave. The error is ErrClosed.
func (c *calls) enter() error {
	c.n.Add(1)
	if c.closed.Load() {
		c.leave()
		return ErrClosed
	}
	return nil
}

// enterAgain counts one more call of a caller that is counted already.
func (c *calls) enterAgain() { c.n.Add(1) }

func (c *calls) leave() {
	if c.n.Add(-1) == 0 && c.closed.Load() {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// close lets no more calls in and waits until the last one has left. It returns ErrClosed the
// second time.
func (c *calls) close() error {
	if c.closed.Swap(true) {
		return ErrClosed
	}
	for c.n.Load() > 0 {
		<-c.idle
	}
	return nil
}
