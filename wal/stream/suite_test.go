package stream_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
	"github.com/rondo-db/rondo/wal/waltest"
)

// clusters are streams by the place that the suite names.
type clusters struct {
	mu      sync.Mutex
	made    map[string]*streamtest.Cluster
	refusal error
	damaged map[string]bool // by message
}

func (a *clusters) at(place string) *streamtest.Cluster {
	a.mu.Lock()
	defer a.mu.Unlock()
	place = filepath.Clean(place)
	if a.made[place] == nil {
		a.made[place] = &streamtest.Cluster{Refuse: a.refused, Damaged: a.isDamaged}
	}
	return a.made[place]
}

func (a *clusters) refuse(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refusal = err
}

func (a *clusters) refused() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.refusal == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", waltest.Refusal(a.refusal), a.refusal)
}

func (a *clusters) damage(l waltest.Log, _ string, p wal.Pos) {
	msg, err := l.(*stream.Log).MessageOf(p)
	if err != nil {
		panic(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.damaged[string(msg)] = true
}

func (a *clusters) isDamaged(_ int, msg []byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.damaged[string(msg)]
}

func TestSuite(t *testing.T) {
	const patience = 2 * time.Second // with servers in memory; damaged records are waited for so long
	for name, o := range map[string]stream.Options{
		"linger":         {Linger: time.Millisecond},
		"at once":        {Linger: -1},
		"little pending": {MaxPendingBytes: 500, Linger: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			all := &clusters{made: make(map[string]*streamtest.Cluster), damaged: make(map[string]bool)}
			subject := waltest.Subject{
				Open: func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
					o := o
					o.OnDurable, o.Retry, o.Patience = onDurable, -1, patience
					return stream.Open(t.Context(), all.at(place).Connect(), o)
				},
				Refuse: all.refuse,
				Damage: all.damage,
			}
			waltest.Run(t, subject)
			waltest.RunReader(t, subject, func(place string) (waltest.Reader, error) {
				return stream.OpenReader(t.Context(), all.at(place).Connect(), stream.ReaderOptions{Patience: patience})
			})
		})
	}
}

// TestDamagedReplica damages every message of one replica: all records are read from another one.
func TestDamagedReplica(t *testing.T) {
	c := &streamtest.Cluster{Damaged: func(replica int, _ []byte) bool { return replica == 0 }}
	for round := range 2 {
		l, err := stream.Open(t.Context(), c.Connect(), stream.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for range 50 {
			if _, err := l.Enqueue(make([]byte, 10_000)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := l.Barrier(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := 0
		if err := l.Replay(1, func(wal.Pos, []byte) error { n++; return nil }); err != nil || n != 50*(round+1) {
			t.Errorf("replay: got %d records, %v", n, err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestReplicaThatLacks lets one replica lose every third message: Replay began behind the record
// that was asked for, First was above the oldest record, and Truncate would have removed too much.
func TestReplicaThatLacks(t *testing.T) {
	lossy := false
	c := &streamtest.Cluster{Lacks: func(replica int, seq uint64) bool { return lossy && replica == 0 && seq%3 == 1 }}
	l := openLog(t, c, stream.Options{})
	addRecords(t, l, 30)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	lossy = true
	l = openLog(t, c, stream.Options{})
	if l.First() != 1 {
		t.Errorf("the oldest record is %d, want 1", l.First())
	}
	for keep := wal.Pos(1); keep <= 30; keep++ {
		if err := l.Truncate(keep - 1); err != nil {
			t.Fatal(err)
		}
		for from := keep; from <= 30; from++ {
			next := from
			if err := l.Replay(from, func(p wal.Pos, _ []byte) error {
				if p != next {
					return fmt.Errorf("got position %d, want %d", p, next)
				}
				next++
				return nil
			}); err != nil || next != 31 {
				t.Fatalf("truncated up to %d, replay from %d: ended at %d, %v", keep-1, from, next, err)
			}
		}
	}
}

// TestTruncateOfDeposedWriter lets a writer truncate that does not know yet that it was deposed.
func TestTruncateOfDeposedWriter(t *testing.T) {
	c := &streamtest.Cluster{}
	a := openLog(t, c, stream.Options{})
	addRecords(t, a, 30)
	b := openLog(t, c, stream.Options{})
	if err := a.Truncate(20); !errors.Is(err, wal.ErrSealed) {
		t.Errorf("truncate by the former writer: got %v, want ErrSealed", err)
	}
	if next, err := tail(t, openReader(t, c, stream.ReaderOptions{}), 1, 30); err != errEnough {
		t.Errorf("behind the truncation by the former writer: got records up to %d, %v", next-1, err)
	}
	if err := b.Truncate(20); err != nil || b.First() != 21 {
		t.Errorf("truncate by the writer: got %v, first is %d, want 21", err, b.First())
	}
}
