package smon

import (
	"context"
	"os"
	"time"
)

// After the context has ended, bytes that are there are still read: until there are none for
// lastWait, which gives a busy machine the time to read them, but no more than lastReads times.
const (
	lastWait  = 200 * time.Millisecond
	lastReads = 32
)

// A waiter reads a file that may have nothing to read yet, until its context ends. Another
// goroutine reads, because standard input has no deadlines. If it still waits when the context
// ends, it does so until the file is closed or has something to read.
type waiter struct {
	ctx   context.Context
	f     *os.File
	buf   [readBytes]byte
	asked bool        // the other goroutine reads into buf
	got   chan result // has room for the result of the other goroutine
	reads int         // since the context has ended
}

type result struct {
	n   int
	err error
}

func newWaiter(ctx context.Context, f *os.File) *waiter {
	return &waiter{ctx: ctx, f: f, got: make(chan result, 1)}
}

// Read waits until the file has something to read, and reads it. When the context has ended and the
// bytes that were there are read, it returns the context's error.
func (w *waiter) Read(p []byte) (int, error) {
	if !w.asked {
		w.asked = true
		go func() {
			n, err := w.f.Read(w.buf[:min(len(p), len(w.buf))])
			w.got <- result{n, err}
		}()
	}
	var r result
	select {
	case r = <-w.got:
	case <-w.ctx.Done():
		if w.reads++; w.reads > lastReads {
			return 0, w.ctx.Err()
		}
		select {
		case r = <-w.got:
		case <-time.After(lastWait):
			return 0, w.ctx.Err()
		}
	}
	w.asked = false
	return copy(p, w.buf[:r.n]), r.err
}
