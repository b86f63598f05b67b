package core

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/rra"
)

// Append logs and applies b, and returns once b is durable and applied. Samples that cannot be
// stored (late, of the wrong shape, of no series, with a text that is too long) are named in a
// *RejectedError; the other samples are stored. Any other error means that nothing of b is stored.
//
// If ctx ends before b is in the queue of the log, Append returns ctx's error and stores nothing.
// Once b is in the queue, Append waits for the disk even if ctx ends, and returns what became of b.
func (s *Store) Append(ctx context.Context, b *Batch) error {
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	if err := s.Submit(ctx, b, t); err != nil {
		return err
	}
	err := t.Wait()
	if rejected, ok := errors.AsType[*RejectedError](err); ok {
		s.nameRejected(rejected, b)
	}
	return err
}

// nameRejected makes the errors of rejected samples name their series.
func (s *Store) nameRejected(e *RejectedError, b *Batch) {
	if s.enter() != nil {
		return
	}
	defer s.leave()
	for i := range e.First {
		r := &e.First[i]
		ref := b.samples[r.Index].ref
		path := s.catalogue.recordOr(ref).path
		switch damage, _ := errors.AsType[*DamageError](r.Err); {
		case damage != nil && damage.Series != "": // it names the series
		case path != "":
			r.Err = fmt.Errorf("%.200q: %w", path, r.Err)
		case errors.Is(r.Err, ErrNotFound):
			r.Err = notFound(ref)
		default:
			r.Err = fmt.Errorf("ref %d: %w", ref, r.Err)
		}
	}
}

// Submit starts an Append: the caller calls t.Wait for its outcome, and leaves b alone until Wait
// has returned. If Submit returns an error, nothing is stored and Wait must not be called.
func (s *Store) Submit(ctx context.Context, b *Batch, t *Ticket) error {
	keep, began := b.keep(), time.Now()
	if err := s.begin(ctx); err != nil {
		return err
	}
	s.appender.ready(t)
	t.began = began
	t.result.keep = keep
	s.appender.split(t, b)
	err := s.appender.submit(t, b)
	if err != nil {
		t.pending = false
		s.leave()
	}
	return err
}

// Update applies b, whose samples are all of the series ref, as one update command, like rrdtool's
// update: the first sample that is refused ends it. Update returns how many samples were applied
// and, with trace, the rows that each of them closed.
func (s *Store) Update(ctx context.Context, ref Ref, b *Batch, trace bool) (n int, rows [][]rra.Run, err error) {
	for i := range b.samples {
		if b.samples[i].ref != ref {
			return 0, nil, errors.New("an update command is for one series")
		}
	}
	keep, began := b.keep(), time.Now()
	if err := s.begin(ctx); err != nil {
		return 0, nil, err
	}
	if len(b.samples) == 0 {
		s.leave()
		return 0, nil, nil
	}
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	t.began = began
	t.result.keep = keep
	t.batch = b
	t.cmd = &command{}
	if b.SkipPast {
		t.cmd.flags |= commandSkipLate
	}
	if b.Stopped {
		t.cmd.flags |= commandStopped
	}
	if trace {
		t.cmd.trace = func(runs []rra.Run) { rows = append(rows, append([]rra.Run(nil), runs...)) }
	}
	s.appender.splitCommand(t, b)
	if err = s.appender.submit(t, b); err != nil {
		t.pending = false
		s.leave()
		return 0, nil, err
	}
	err = t.Wait()
	return t.result.accepted, rows, err
}
