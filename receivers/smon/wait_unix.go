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

// canWait says that there are files which may have nothing to read yet.
const canWait = true

const (
	// what is not there so long after the context has ended is not read
	lastWait = 10 * time.Millisecond
	lastTime = 100 * time.Millisecond // and nothing after so long
)

// A waiter reads a file that may have nothing to read yet, until its context ends. Standard input
// has no deadlines, and its flags are shared with other processes: so it is asked before each read
// whether there is anything.
type waiter struct {
	ctx  context.Context
	f    *os.File
	r, w *os.File // a pipe: what waits sees its end when the context ends
	stop func() bool
	end  time.Time // when reading ends; zero: the context has not
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

// Read reads what is there, or waits for it. Its error is the context's when that has ended and
// what was there by then is read.
func (w *waiter) Read(p []byte) (int, error) {
	if w.ctx.Err() == nil {
		if ready, err := w.poll(-1); ready || err != nil {
			return w.read(p, err)
		}
	}
	if w.end.IsZero() {
		w.end = time.Now().Add(lastTime)
	}
	if time.Now().Before(w.end) {
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

// poll waits until the file has something to read, for at most d, or with a d of -1 until the
// context ends.
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
