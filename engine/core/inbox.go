package core

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/rondo-db/rondo/wal"
)

// inboxBytes is how many bytes of records an inbox holds before add waits.
const inboxBytes = 512 << 10

// An inbox applies records that come from the log of a store that is open. While the shards are
// busy, records gather in it, so that they are applied many at a time; otherwise each is applied as
// it comes.
type inbox struct {
	s     *Store
	r     replayer
	next  wal.Pos       // of the next record; add alone uses it
	ended chan struct{} // closed when the goroutine has returned

	mu      sync.Mutex // guards what follows; taken alone
	changed sync.Cond  // of what follows
	buf     []byte
	records []rawRecord // in buf
	last    bool        // no more records come
	err     error       // why nothing is applied any more
}

// newInbox returns an inbox whose first record has the position next.
func newInbox(s *Store, next wal.Pos) *inbox {
	in := &inbox{s: s, r: replayer{s: s, c: &delivery{}}, next: next, ended: make(chan struct{})}
	in.changed.L = &in.mu
	return in
}

// start starts the goroutine that applies, until finish or until ctx ends.
func (in *inbox) start(ctx context.Context) {
	go func() {
		defer close(in.ended)
		failed := make(chan struct{})
		stop := context.AfterFunc(ctx, func() { defer close(failed); in.fail(ctx.Err()) })
		defer func() {
			if !stop() {
				<-failed
			}
		}()
		for {
			in.mu.Lock()
			for len(in.records) == 0 && !in.last && in.err == nil {
				in.changed.Wait()
			}
			buf, records, err := in.buf, in.records, in.err
			in.buf, in.records = nil, nil
			in.mu.Unlock()
			in.changed.Broadcast()
			if err != nil || len(records) == 0 {
				return
			}
			if err := in.apply(ctx, buf, records); err != nil {
				in.fail(err)
			}
		}
	}()
}

// fail ends the inbox.
func (in *inbox) fail(err error) {
	in.mu.Lock()
	in.err = cmp.Or(in.err, err)
	in.mu.Unlock()
	in.changed.Broadcast()
	in.s.replica.failed()
}

// signal sends a message to a channel that holds one, unless it has one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add takes a copy of the record at p. The error is the one of start's context, or says why records
// are not applied any more, or that p is not the next position.
func (in *inbox) add(p wal.Pos, rec []byte) error {
	if p != in.next {
		return fmt.Errorf("%w: record %d comes where %d is the next", wal.ErrHole, p, in.next)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.err == nil && len(in.records) > 0 && len(in.buf)+len(rec) > inboxBytes {
		in.changed.Wait()
	}
	if in.err != nil {
		return in.err
	}
	from := len(in.buf)
	in.buf = append(in.buf, rec...)
	in.records = append(in.records, rawRecord{pos: p, from: uint32(from), to: uint32(len(in.buf))})
	in.next++
	in.changed.Broadcast()
	return nil
}

// finish waits until everything that was added is applied, or the context of start has ended. It
// returns why something was not applied.
func (in *inbox) finish() error {
	in.mu.Lock()
	in.last = true
	in.mu.Unlock()
	in.changed.Broadcast()
	<-in.ended
	in.s.appender.drain()
	if in.err != nil {
		return in.err
	}
	if e := in.s.loader.failure.Load(); e != nil {
		return *e
	}
	return nil
}

// apply hands records on to the shards. Changes of the catalogue happen here, in order.
func (in *inbox) apply(ctx context.Context, buf []byte, records []rawRecord) error {
	s := in.s
	if err := s.admission.hold(ctx); err != nil {
		return err
	}
	s.admission.addLogged(int64(len(buf)))
	s.appender.batches.Add(uint64(len(records)))
	defer in.r.flush()
	for i := range records {
		r := &records[i]
		if err := in.r.record(r.pos, buf[r.from:r.to]); err != nil {
			return err
		}
	}
	if e := s.loader.failure.Load(); e != nil {
		return *e
	}
	return nil
}
