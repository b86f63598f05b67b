package core

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rondo-db/rondo/engine/internal/numbers"
)

// batchTickets are tickets for Append.
var batchTickets = sync.Pool{New: func() any { return new(Ticket) }}

// Append stores b in e, and returns once b is durable and applied. Samples that cannot be stored
// (late, of the wrong shape, of no series, with a text that is too long) are named in a
// *RejectedError; the other samples are stored. Any other error but a *PartialError means that
// nothing of b is stored.
//
// If ctx ends before b is in the queue of the log, Append returns ctx's error and stores nothing.
// Once b is in the queue, Append waits for the disk even if ctx ends, and returns what became of b.
func Append(ctx context.Context, e Engine, b *Batch) error {
	t := batchTickets.Get().(*Ticket)
	defer batchTickets.Put(t)
	if err := e.Submit(ctx, b, t); err != nil {
		return err
	}
	err := t.Wait()
	rejected, _ := errors.AsType[*RejectedError](err)
	if partial, ok := errors.AsType[*PartialError](err); ok {
		rejected = partial.Rejected
	}
	nameRejected(ctx, e, rejected, b)
	return err
}

// nameRejected makes the errors of rejected samples name their series. A series that cannot be
// looked up is named by its reference.
func nameRejected(ctx context.Context, e Engine, rejected *RejectedError, b *Batch) {
	if rejected == nil {
		return
	}
	refs, paths := make([]Ref, len(rejected.First)), make([]string, len(rejected.First))
	for i := range rejected.First {
		refs[i] = b.Ref(rejected.First[i].Index)
	}
	_ = e.Resolve(ctx, refs, func(i int, x Series) bool {
		paths[i] = x.Path
		return true
	})
	for i := range rejected.First {
		r := &rejected.First[i]
		switch damage, _ := errors.AsType[*DamageError](r.Err); {
		case damage != nil && damage.Series != "": // it names the series
		case paths[i] != "":
			r.Err = fmt.Errorf("%.200q: %w", paths[i], r.Err)
		case errors.Is(r.Err, ErrNotFound):
			r.Err = notFound(refs[i])
		default:
			r.Err = fmt.Errorf("ref %d: %w", refs[i], r.Err)
		}
	}
}

// Append is the function [Append] for s.
func (s *Store) Append(ctx context.Context, b *Batch) error { return Append(ctx, s, b) }

// Submit starts an [Append]: the caller calls t.Wait for its outcome, and leaves b alone until Wait
// has returned. If Submit returns an error, nothing is stored and Wait must not be called.
func (s *Store) Submit(ctx context.Context, b *Batch, t *Ticket) error {
	return s.submit(ctx, b, t, false)
}

// submit is Submit, or starts an update command.
func (s *Store) submit(ctx context.Context, b *Batch, t *Ticket, update bool) error {
	began := time.Now()
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.appender.ready(t)
	t.began, t.batch, t.number, t.update = began, b, NumberOf(ctx), update
	err := s.appender.begin(t)
	if err != nil { // else t may be in other hands by now
		t.pending = false
	}
	return err
}

// Update applies b, whose samples are all of the series ref, as one update command, like rrdtool's
// update: the first sample that is refused ends it. Update returns how many samples were applied.
func (s *Store) Update(ctx context.Context, ref Ref, b *Batch) (n int, err error) {
	for i := range b.samples {
		if b.samples[i].ref != ref {
			return 0, errors.New("an update command is for one series")
		}
		b.samples[i].more = i > 0
	}
	if len(b.samples) == 0 {
		return 0, nil
	}
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	if err = s.submit(ctx, b, t, true); err == nil {
		err = t.Wait()
	}
	return t.result.accepted, err
}

// before returns what of a change was refused when it was made before. If it was not, again is
// false.
func (s *Store) before(ctx context.Context, n Number) (refused []numbers.Refusal, again bool, err error) {
	a := &s.appender
	if again, err := a.numbers.Known(n, false); !again || err != nil {
		return nil, false, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, true, err
	}
	defer s.leave()
	t := a.ticket()
	defer a.tickets.Put(t)
	t.number = n
	if err = a.submitAgain(t); err == nil {
		err = t.Wait()
	}
	if err == nil {
		refused, err = a.numbers.Outcome(n)
	}
	return refused, true, err
}

// refused notes that a part of the change that t stands for was refused, if err is not nil.
func (s *Store) refused(t *Ticket, ref Ref, err error) {
	if err != nil {
		s.appender.numbers.Refuse(t.number, refusalOf(ref, 0, err))
	}
}

// beforeOne is before for a change of one part. The error may be what the first attempt had.
func (s *Store) beforeOne(ctx context.Context, n Number) (again bool, err error) {
	refused, again, err := s.before(ctx, n)
	if len(refused) > 0 {
		err = asRefused(&refused[0])
	}
	return again, err
}
