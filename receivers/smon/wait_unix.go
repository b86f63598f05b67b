//go:build unix

package smon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// canWait says that this system can wait for pipes and terminals, which may have nothing to read
// yet.
const canWait = true

const (
	// After the context has ended, bytes that are there are still read: until there are none for
	// lastWait. They are read for lastTime at most, but lastReads times at least: a busy machine
	// may not let the process run for so long.
	lastWait  = 10 * time.Millisecond
	lastTime  = 100 * time.Millisecond
	lastReads = 16
)

// A waiter reads a file that may have nothing to read yet, until its context ends. It polls the
// file before each read, because standard input has no deadlines, and its flags are shared with
// other processes.
type waiter struct {
	ctx  context.Context
	f    *os.File
	r, w *os.File // a pipe, which is closed when the context ends, so that poll returns
	stop func() bool
	end  time.Time // when reading ends; zero: the context has not ended
	// reads counts reads since the context has ended.
	reads int
}

func newWaiter(ctx context.Context, f *os.File) (*waiter, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &waiter{ctx: ctx, f: f, r: r, w: w, stop: context.AfterFunc(ctx, func() { _ = w.Close() })}, nil
}

func (w *waiter) close() {
	w.stop()
	_ = w.w.Close() // perhaps once more
	_ = w.r.Close() // nothing was read
}

// Read waits until the file has something to read, and reads it. When the context has ended and the
// bytes that were there are read, it returns the context's error.
func (w *waiter) Read(p []byte) (int, error) {
	if w.ctx.Err() == nil {
		if ready, err := w.poll(-1); ready || err != nil {
			return w.read(p, err)
		}
	}
	if w.end.IsZero() {
		w.end = time.Now().Add(lastTime)
	}
	if w.reads++; w.reads <= lastReads || time.Now().Before(w.end) {
		if ready, err := w.poll(lastWait); ready || err != nil {
			return w.read(p, err)
		}
	}
	return 0, w.ctx.Err()
}

func (w *waiter) read(p []byte, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return w.f.Read(p)
}

// poll waits until the file has something to read, for at most d. If d is negative it waits until
// the context ends.
func (w *waiter) poll(d time.Duration) (ready bool, err error) {
	conns := [2]interface {
		Control(func(uintptr)) error
	}{}
	for i, f := range [...]*os.File{w.f, w.r} {
		if conns[i], err = f.SyscallConn(); err != nil {
			return false, err
		}
	}
	timeout := -1
	if d >= 0 {
		timeout = int(d / time.Millisecond)
	}
	cerr := conns[0].Control(func(fd uintptr) {
		err = conns[1].Control(func(wake uintptr) {
			fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
			if timeout >= 0 {
				fds = fds[:1]
			}
			for {
				if _, err = unix.Poll(fds, timeout); !errors.Is(err, unix.EINTR) {
					break
				}
			}
			ready = fds[0].Revents != 0 // the end and errors too
		})
	})
	if err = errors.Join(cerr, err); err != nil {
		return false, fmt.Errorf("poll: %w", err)
	}
	return ready, nil
}
