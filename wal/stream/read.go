package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// errNone says that no replica has shown a message.
var errNone = errors.New("no replica has the message yet")

// errUnsure says that a replica may have an earlier message than the one that was found.
var errUnsure = errors.New("the stream begins earlier")

// A message is one that was read and checked.
type message struct {
	header
	seq     uint64
	payload []byte
	bytes   []byte // header and payload
}

// A finder reads single messages of a stream, from any replica.
type finder struct {
	server   Server
	id       wal.ID // of the log; zero while it is not known
	patience time.Duration
	logger   *slog.Logger
}

// parse checks a message of this log.
func (f *finder) parse(seq uint64, b []byte) (message, error) {
	h, payload, err := parseMessage(b)
	if err == nil && f.id != (wal.ID{}) && h.Log != f.id {
		err = fmt.Errorf("%w: its id is %v, not %v", ErrOtherLog, h.Log, f.id)
	}
	if err != nil {
		return message{}, &wal.CorruptError{Place: place(seq), Err: err}
	}
	return message{header: h, seq: seq, payload: payload, bytes: b}, nil
}

// place names a message in errors.
func place(seq uint64) string { return fmt.Sprintf("message %d of the stream", seq) }

// message reads the first message from seq on. A replica that does not have it, or has it damaged,
// does not count as long as another one has it. If a replica shows a later message than seq, the
// others are asked, too: it may lack some. Without any the error is the damage if all replicas have
// it damaged. Else one of them may show it later: then the error wraps errNone.
func (f *finder) message(ctx context.Context, seq uint64) (found message, err error) {
	err = errNone
	for replica, bad := 0, 0; ; replica++ {
		m, e := f.messageOf(ctx, replica, seq)
		switch {
		case errors.Is(e, ErrNoReplica), ctx.Err() != nil:
			if bad > 0 && (bad < replica || ctx.Err() != nil) && found.bytes == nil {
				err = fmt.Errorf("%w: %w", errNone, err)
			}
			return found, err
		case isDamage(e):
			f.logger.Error("a replica has a damaged message, asking another one", "replica", f.server.Replica(replica), "error", e)
			if bad++; found.bytes == nil {
				err = e
			}
		case e == nil && m.bytes != nil && (found.bytes == nil || m.seq < found.seq):
			if found, err = m, nil; m.seq <= seq {
				return found, nil
			}
		}
	}
}

// messageOf asks one replica for the first message from seq on. Without one it returns none.
func (f *finder) messageOf(ctx context.Context, replica int, seq uint64) (m message, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	var bad error
	err = f.server.Read(ctx, replica, seq, 1, func(s uint64, b []byte) error {
		if m.bytes == nil && bad == nil {
			m, bad = f.parse(s, append([]byte(nil), b...))
		}
		return nil
	})
	if bad != nil {
		err = bad
	}
	return m, err
}

// mustHave reads the first message from seq on, which was durable. It waits for a replica that has
// it whole, and gives up after the patience: a replica that is not current may have had another one
// answer in its place.
func (f *finder) mustHave(ctx context.Context, seq uint64) (m message, err error) {
	g := *f
	err = f.patiently(ctx, func(ctx context.Context) (bool, error) {
		m, err = g.message(ctx, seq)
		g.logger = discarding // it says the same every time
		return errors.Is(err, errNone) || isDamage(err), err
	})
	return m, err
}

var discarding = slog.New(slog.DiscardHandler)

// patiently calls fn until it succeeds, does not want to be called again, or the patience is over.
// What fn asks of a server ends by itself after attemptTime: if one replica hangs, fn asks the
// next.
func (f *finder) patiently(ctx context.Context, fn func(ctx context.Context) (again bool, err error)) error {
	began := time.Now()
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		again, err := fn(ctx)
		if err == nil || !again || time.Since(began) >= f.patience || sleep.For(ctx, wait) != nil {
			return err
		}
	}
}

// bounds asks for the bounds of the stream, and gives up after the patience.
func (f *finder) bounds(ctx context.Context) (oldest, newest uint64, err error) {
	err = f.patiently(ctx, func(ctx context.Context) (bool, error) {
		oldest, newest, err = f.boundsNow(ctx)
		return true, err
	})
	return oldest, newest, err
}

// boundsNow asks for the bounds once.
func (f *finder) boundsNow(ctx context.Context) (oldest, newest uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	return f.server.Bounds(ctx)
}

// errBeyond says that no message is what was searched.
var errBeyond = fmt.Errorf("%w: no message that is known has them", wal.ErrHole)

// find returns a sequence number to read from in order to get the record at p. The record is in the
// message of that number, or in one behind it. If no message up to newest has it the error is
// errBeyond, and the number is the newest message's.
//
// A replica that lacks messages shows a later one in their place. That makes the number smaller,
// never larger, because all messages below it were seen or are older than one that was seen.
func (f *finder) find(ctx context.Context, p wal.Pos, newest uint64) (seq uint64, err error) {
	lo, _, err := f.bounds(ctx)
	if err != nil {
		return 0, err
	}
	seq, err = newest, errBeyond
	for hi := newest + 1; lo < hi; {
		mid := lo + (hi-lo)/2
		m, e := f.mustHave(ctx, mid)
		if e != nil {
			return 0, e
		}
		if m.end() > p {
			hi, err = mid, nil
		} else {
			lo = m.seq + 1
		}
	}
	if err == nil {
		seq = lo
	}
	return seq, err
}

// findOldest returns the position of the oldest record that is whole. Without one in the messages
// up to newest it returns none, the position of the next record.
func (f *finder) findOldest(ctx context.Context, newest uint64, none wal.Pos) (wal.Pos, error) {
	from, _, err := f.bounds(ctx)
	for err == nil && from <= newest {
		var m message
		if m, err = f.oldest(ctx, from); err == nil {
			if m.Part == 0 {
				return m.First, nil
			}
			from = m.seq + 1 // the block begins below what is kept
		}
	}
	return none, err
}

// oldest reads the first message from seq on, as mustHave. It takes a later message only if the
// stream begins with it: a replica that has lost the oldest messages looks like a truncated stream.
// After the patience a later message is taken all the same.
func (f *finder) oldest(ctx context.Context, seq uint64) (m message, err error) {
	g := *f
	err = f.patiently(ctx, func(ctx context.Context) (bool, error) {
		m, err = g.message(ctx, seq)
		g.logger = discarding
		if err != nil || m.seq == seq {
			return errors.Is(err, errNone) || isDamage(err), err
		}
		if first, _, e := f.boundsNow(ctx); e == nil && first >= m.seq {
			return false, nil
		}
		return true, errUnsure
	})
	if err == errUnsure {
		err = nil
	}
	return m, err
}
