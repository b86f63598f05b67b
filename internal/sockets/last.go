package sockets

import (
	"errors"
	"os"
	"time"
)

// lastReadWait is how long more may arrive after reading has ended.
const lastReadWait = 10 * time.Millisecond

// ReadLast reads bytes that have arrived although reading has ended. If there are no bytes yet, it
// waits for them for 10 ms. It returns os.ErrDeadlineExceeded if none have arrived by then.
//
// The first and the last read do not wait and need no deadline, because a busy machine may let one
// pass before it reads.
func (in *Input) ReadLast(p []byte) (int, error) {
	n, err := in.readBy(p, time.Time{}, false)
	if n > 0 || err != nil {
		return n, err
	}
	n, err = in.readBy(p, time.Now().Add(lastReadWait), true)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	n, err = in.readBy(p, time.Time{}, false)
	if n == 0 && err == nil {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// readBy reads with the deadline until; zero: none. It sets the deadline again if an interrupt has
// overwritten it.
func (in *Input) readBy(p []byte, until time.Time, wait bool) (n int, err error) {
	for range 3 { // the server ends once, and another takes the place once
		_ = in.conn.SetReadDeadline(until) // on an error the read fails too
		n, err = in.Read(p, wait)
		if !errors.Is(err, os.ErrDeadlineExceeded) || wait && !time.Now().Before(until) {
			break
		}
	}
	return n, err
}
