package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// errNone says that no replica has shown a message.
var errNone = errors.New("no replica has the message yet")

// A message is one that was read and checked.
type message struct {
	header
	seq     uint64
	payload []byte
	bytes   []byte // header and payload
}

// parse checks a message of this log.
func (l *Log) parse(seq uint64, b []byte) (message, error) {
	h, payload, err := parseMessage(b)
	if err == nil && l.id != (wal.ID{}) && h.Log != l.id {
		err = fmt.Errorf("message is of log %v, this is log %v", h.Log, l.id)
	}
	if err != nil {
		return message{}, &wal.CorruptError{Place: place(seq), Err: err}
	}
	return message{header: h, seq: seq, payload: payload, bytes: b}, nil
}

// place names a message in errors.
func place(seq uint64) string { return fmt.Sprintf("message %d of the stream", seq) }

// message reads the first message from seq on. A replica that does not have it, or has it damaged,
// does not count as long as another one has it. Without any the error is the damage, or errNone.
func (l *Log) message(ctx context.Context, seq uint64) (message, error) {
	var m message
	var damage error
	for replica := 0; ; replica++ {
		timed, cancel := context.WithTimeout(ctx, attemptTime)
		bad, found := error(nil), false
		err := l.server.Read(timed, replica, seq, 1, func(s uint64, b []byte) error {
			if !found {
				found = true
				m, bad = l.parse(s, append([]byte(nil), b...))
			}
			return nil
		})
		cancel()
		switch {
		case errors.Is(err, ErrNoReplica), ctx.Err() != nil:
			if damage == nil {
				damage = errNone
			}
			return m, damage
		case bad != nil:
			l.o.Logger.Error("a replica has a damaged message, asking another one", "replica", replica, "error", bad)
			damage = bad
		case err == nil && found:
			return m, nil
		}
	}
}

// mustHave reads the first message from seq on, which was durable. It waits for a replica that has
// it for Options.Patience.
func (l *Log) mustHave(ctx context.Context, seq uint64) (m message, err error) {
	err = l.patiently(ctx, func(ctx context.Context) (bool, error) {
		m, err = l.message(ctx, seq)
		return errors.Is(err, errNone), err
	})
	return m, err
}

// patiently calls fn until it succeeds, does not want to be called again, or Options.Patience is
// over.
func (l *Log) patiently(ctx context.Context, fn func(ctx context.Context) (again bool, err error)) error {
	began := time.Now()
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		timed, cancel := context.WithTimeout(ctx, attemptTime)
		again, err := fn(timed)
		cancel()
		if err == nil || !again || time.Since(began) >= l.o.Patience || !sleep(ctx, wait) {
			return err
		}
	}
}

// find returns the message to read from in order to get the record at p, which must be in the log.
// The position of its first record is at or below p.
func (l *Log) find(ctx context.Context, p wal.Pos) (message, error) {
	m, err := l.search(ctx, func(h header) bool { return h.end() > p })
	if err != nil || m.Part == 0 {
		return m, err
	}
	first := m.First // the block begins in an earlier message
	return l.search(ctx, func(h header) bool { return h.First >= first })
}

// search returns the oldest message of which after is true. It is true of all messages behind it.
func (l *Log) search(ctx context.Context, after func(header) bool) (found message, err error) {
	lo, _, err := l.bounds(ctx)
	if err != nil {
		return found, err
	}
	for hi := l.tail.Load() + 1; lo < hi; {
		mid := lo + (hi-lo)/2
		m, err := l.mustHave(ctx, mid)
		if err != nil {
			return found, err
		}
		if after(m.header) {
			found, hi = m, mid
		} else {
			lo = m.seq + 1
		}
	}
	if found.bytes == nil {
		return found, fmt.Errorf("%w: no message up to %d has them", wal.ErrHole, l.tail.Load())
	}
	return found, nil
}
