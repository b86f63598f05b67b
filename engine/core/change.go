package core

import (
	"context"

	"github.com/rondo-db/rondo/engine/internal/record"
)

// change logs a record and returns what apply, in log order, makes of it. It changes what is kept
// under keys.
func (s *Store) change(ctx context.Context, rec []byte, apply func(*Ticket) error, keys ...string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.changeNow(rec, apply, s.appender.lock, keys...)
}

// barrierRecord is a record that changes nothing.
var barrierRecord = []byte{record.KindBarrier}

// confirm is called before a call that writes is answered without a record, by what the store
// holds. If the log is shared, confirm logs a record that changes nothing. So a store that another
// one has replaced, without knowing it, does not answer by what it does not know. The error is then
// that of a write.
func (s *Store) confirm(ctx context.Context) error {
	if s.options.Follow == nil {
		return nil
	}
	return s.change(ctx, barrierRecord, func(*Ticket) error { return nil })
}

// changeNow is change without a wait for room. The call is counted, and leaves. lock takes the
// appender's mu.
func (s *Store) changeNow(rec []byte, apply func(*Ticket) error, lock func(), keys ...string) error {
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	var outcome error
	t.op = &op{rec: rec, keys: keys, apply: func(t *Ticket) { outcome = apply(t) }}
	if err := s.appender.submitOp(t, lock); err != nil {
		s.leave()
		return err
	}
	if err := t.Wait(); err != nil {
		return err
	}
	return outcome
}
