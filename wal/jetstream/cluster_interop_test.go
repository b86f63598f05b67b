package jetstream_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/wal"
	log "github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
)

// TestKilledLeader kills the server that leads the stream while records are appended, and starts it
// again later. No record that was reported as durable is missing, none is there twice, and the
// writer notices nothing but a pause. Then another process takes over. What surveys say of the
// servers is right all the time.
func TestKilledLeader(t *testing.T) {
	t.Parallel() // most of it is waiting
	c := natstest.Three(t)
	o := options{
		Options: log.Options{URL: c.URLs(), Monitor: c.Monitors(), MaxBytes: 64 << 20},
		Stream:  "log",
		Log:     stream.Options{Patience: 2 * time.Minute, Retry: 2 * time.Minute},
	}
	var told atomic.Uint64
	o.Log.OnDurable = func(first, last wal.Pos, err error) {
		if err != nil || first != wal.Pos(told.Load())+1 {
			t.Errorf("told of %d to %d, %v, behind %d", first, last, err, told.Load())
		}
		told.Store(uint64(last))
	}
	l := openAmong(t, o)
	var want []string
	enqueue := func(n int) {
		for range n {
			want = append(want, fmt.Sprintf("record %d", len(want)+1))
			if _, err := l.Enqueue([]byte(want[len(want)-1])); err != nil {
				t.Fatal(err)
			}
			if len(want)%10 == 0 {
				if _, err := l.Barrier(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	enqueue(100)
	surveys := newSurveyed(t, c, o.Stream)
	surveys.whole()
	i := leader(t, c, o.Stream)
	enqueue(5) // some are under way when the leader is killed
	c.Nodes[i].Kill()
	enqueue(100)
	if err := wants(l, want[:told.Load()]...); err != nil {
		t.Errorf("without a server: %v", err)
	}
	// A process that starts now cannot ask the dead server how it syncs.
	r, err := openReader(t, o, stream.ReaderOptions{})
	if err != nil {
		t.Fatalf("open a reader without a server: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	surveys.without(i)
	if c.Nodes[i] = c.Again[i](); c.Nodes[i] == nil {
		t.Fatal("a killed server does not start again")
	}
	surveys.whole()
	enqueue(95)
	if p, err := l.Barrier(t.Context()); err != nil || p != 300 {
		t.Fatalf("barrier: got %d, %v", p, err)
	}
	o.Log.OnDurable = nil
	o.Monitor = c.Monitors()
	b := openAmong(t, o)
	if b.Last() != 300 || b.First() != 1 {
		t.Errorf("the next writer has positions %d to %d, want 1 to 300", b.First(), b.Last())
	}
	if err := wants(b, want...); err != nil {
		t.Error(err)
	}
}

// openAmong opens a log on servers that may still be looking for a leader.
func openAmong(t testing.TB, o options) *stream.Log {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		l, err := openLog(t, o)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() }) // a test that cares closes it itself
			return l
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
