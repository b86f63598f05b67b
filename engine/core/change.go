package core

import "context"

// change logs a record and returns what apply, in log order, makes of it. It changes what is kept
// under keys.
func (s *Store) change(ctx context.Context, rec []byte, apply func(*Ticket) error, keys ...string) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	return s.changeNow(rec, apply, s.appender.lock, keys...)
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
