package core_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/waltest"
)

// A silentLog is one whose servers do not answer when it is to be truncated.
type silentLog struct {
	core.Log
	asked, answer chan struct{}
}

func (l *silentLog) Truncate(upto wal.Pos) error {
	close(l.asked)
	<-l.answer
	return l.Log.Truncate(upto)
}

// TestSilentServersHoldUpNoCheckpoint truncates a log whose servers do not answer: checkpoints and
// backups go on. They waited for the servers.
func TestSilentServersHoldUpNoCheckpoint(t *testing.T) {
	log := waltest.NewStream(1)
	o := shared(core.Options{NoBackground: true}, log)
	silent := &silentLog{asked: make(chan struct{}), answer: make(chan struct{})}
	open := o.OpenLog
	o.OpenLog = func(after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
		l, err := open(after, onDurable)
		silent.Log = l
		return silent, err
	}
	s := mustOpen(t, t.TempDir(), o)
	mustPromote(t, s)
	f := newFeeder(t, s, 10)
	f.mustFeed(5)
	truncated := make(chan error)
	go func() { truncated <- s.Truncate(s.Position()) }()
	<-silent.asked
	mustClose(t, s.Checkpoint(t.Context()))
	mustClose(t, s.Backup(t.Context(), io.Discard))
	close(silent.answer)
	mustClose(t, <-truncated)
	mustClose(t, s.Close())
}

// TestFullLogGetsCheckpoint fills a log that is shared: the leader writes a checkpoint at once, so
// that the log can be truncated. It waited for its time, and updates were refused for that long.
func TestFullLogGetsCheckpoint(t *testing.T) {
	log := waltest.NewStream(1)
	s := mustOpen(t, t.TempDir(), shared(core.Options{CheckpointInterval: time.Hour}, log))
	mustPromote(t, s)
	f := newFeeder(t, s, 10)
	f.mustFeed(5)
	log.Capacity = 20 << 10
	var err error
	for err == nil {
		err = f.feed(1)
	}
	if !errors.Is(err, wal.ErrFull) {
		t.Fatalf("a full log: %v, want ErrFull", err)
	}
	for end := time.Now().Add(patience); s.Checkpointed() < s.Position(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the checkpoint is at %d, the log ends at %d", s.Checkpointed(), s.Position())
		}
	}
	mustClose(t, s.Truncate(s.Checkpointed()))
	f.mustFeed(5)
	mustClose(t, s.Close())
}
