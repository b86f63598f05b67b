package stream_test

import (
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
	for name, o := range map[string]stream.Options{
		"linger":         {Linger: time.Millisecond},
		"at once":        {Linger: -1},
		"little pending": {MaxPendingBytes: 500, Linger: time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			all := &clusters{made: make(map[string]*streamtest.Cluster), damaged: make(map[string]bool)}
			waltest.Run(t, waltest.Subject{
				Open: func(place string, onDurable func(first, last wal.Pos, err error)) (waltest.Log, error) {
					o := o
					o.OnDurable, o.Retry = onDurable, -1
					return stream.Open(t.Context(), all.at(place).Connect(), o)
				},
				Refuse: all.refuse,
				Damage: all.damage,
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
