package core

import (
	"time"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// logSettings logs the reorder window of the options if another window is in force.
func (s *Store) logSettings() error {
	want := rra.TimeOf(time.UnixMicro(int64(s.options.Reorder / time.Microsecond)))
	if s.options.ReadOnly || want == s.appender.shards[0].reorder {
		return nil
	}
	rec := record.AppendTime([]byte{record.KindSettings}, want, 0)
	if err := s.enterWrite(); err != nil {
		return err
	}
	return s.changeNow(rec, func(t *Ticket) error { s.applySettings(t, want); return nil }, s.appender.lock)
}

// applySettings puts a reorder window in force.
func (s *Store) applySettings(t *Ticket, window rra.Time) {
	t.op.all = func(sh *shard) { sh.reorder = window }
	s.catalogue.set(t.pos, window)
}
