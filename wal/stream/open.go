package stream

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
)

// Open makes the caller the writer of the stream, and takes over the server, which Close closes. If
// Open returns an error the server stays the caller's.
//
// The end of the stream is known for certain only when a claim was stored behind it: what a server
// says of the end may be out of date.
func Open(ctx context.Context, s Server, o Options) (*Log, error) {
	o = o.withDefaults()
	l := &Log{
		finder: finder{server: s, patience: o.Patience, logger: o.Logger},
		o:      o, wake: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	l.room.L = &l.mu
	if s.MaxMessage() <= messageHeader {
		return nil, fmt.Errorf("the stream takes messages of %d bytes, too few for a header", s.MaxMessage())
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	l.nonce = binary.LittleEndian.Uint64(b[:])
	var h header
	for began := time.Now(); ; {
		var err error
		if h, err = l.learn(ctx); err != nil {
			return nil, fmt.Errorf("look for the end of the stream: %w", err)
		}
		if h.First <= o.After {
			// A claim would stand where readers that hold more go on.
			if time.Since(began) < attemptTime && sleep.For(ctx, maxWait) == nil {
				continue // what the server says may be out of date
			}
			return nil, endsBefore(h.First-1, o.After)
		}
		l.writer = h.Writer
		if err = l.publish(ctx, appendMessage(nil, h, nil)); err == nil {
			break
		}
		// Another message stood in the claim's place: the end was further back, or somebody else
		// was faster. The claims of two processes follow each other, and the last one counts.
		if !errors.Is(err, wal.ErrSealed) || ctx.Err() != nil {
			return nil, fmt.Errorf("become the writer of the stream: %w", err)
		}
	}
	l.id, l.next = h.Log, h.First
	l.acked.Store(uint64(l.next - 1))
	first, err := l.findOldest(ctx, l.tail.Load(), l.next)
	if err != nil {
		return nil, fmt.Errorf("look for the beginning of the stream: %w", err)
	}
	l.oldest = first
	ctx, l.giveUp = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer l.giveUp()
		l.writes(ctx)
	}()
	return l, nil
}

// learn finds what a claim must say, if the newest message that a server shows is the newest.
func (l *Log) learn(ctx context.Context) (header, error) {
	h := header{Kind: claim, First: l.o.After + 1, Writer: 1, Nonce: l.nonce}
	oldest, newest, err := l.bounds(ctx)
	if err != nil {
		return h, err
	}
	l.tail.Store(newest)
	if newest < oldest {
		switch h.Log = l.o.ID; {
		case h.Log == wal.ID{}:
			_, _ = rand.Read(h.Log[:]) // never fails
		case !l.o.Anew:
			return h, fmt.Errorf("%w: %w: it is empty, and the log %v is expected", ErrOtherLog, wal.ErrLost, l.o.ID)
		}
		return h, nil
	}
	m, err := l.mustHave(ctx, newest)
	for err == nil {
		if l.o.ID != (wal.ID{}) && m.Log != l.o.ID {
			return h, fmt.Errorf("%w: it has the id %v, the log %v is expected", ErrOtherLog, m.Log, l.o.ID)
		}
		l.tail.Store(m.seq)
		h.Log, h.Writer, h.First = m.Log, m.Writer+1, m.end()
		m, err = l.message(ctx, m.seq+1)
	}
	if errors.Is(err, errNone) && h.Writer > 1 {
		if l.o.Anew {
			h.First = max(h.First, l.o.After+1)
		}
		return h, nil
	}
	return h, err
}

// endsBefore says that a stream ends at a position before one that is held.
func endsBefore(end, held wal.Pos) error {
	return fmt.Errorf("%w: %w: the stream ends at position %d, and %d is already held", wal.ErrHole, wal.ErrLost, end, held)
}
