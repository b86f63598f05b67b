package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
)

// An outcome is what all writers know of their records.
type outcome struct {
	mu     sync.Mutex
	kept   map[wal.Pos]string
	failed map[string]error
}

// An appender writes records into its end of a log, as a store does.
type appender struct {
	*outcome
	order sync.Mutex // taken around Enqueue, and by settle
	queue []string
}

func (a *appender) settle(first, last wal.Pos, err error) {
	a.order.Lock()
	defer a.order.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	for p := first; p <= last; p++ {
		if err != nil {
			a.failed[a.queue[0]] = err
		} else {
			a.kept[p] = a.queue[0]
		}
		a.queue = a.queue[1:]
	}
}

func (a *appender) enqueue(l *stream.Log, rec string) error {
	a.order.Lock()
	defer a.order.Unlock()
	_, err := l.Enqueue([]byte(rec))
	if err == nil {
		a.queue = append(a.queue, rec)
	}
	return err
}

// write opens the log and appends records until another writer has taken it over.
func (a *appender) write(t *testing.T, c *streamtest.Cluster, r *rand.Rand, name string) {
	l, err := stream.Open(context.Background(), c.Connect(), stream.Options{OnDurable: a.settle, Patience: time.Hour, Retry: time.Minute})
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	for i := range 60 {
		rec := fmt.Sprintf("%s record %d", name, i)
		if r.IntN(8) == 0 { // it spans messages
			more := make([]byte, 100_000)
			for j := range more {
				more[j] = byte(r.Uint32())
			}
			rec += string(more)
		}
		if err := a.enqueue(l, rec); errors.Is(err, wal.ErrSealed) {
			break
		} else if err != nil && !errors.Is(err, wal.ErrRetry) {
			t.Errorf("%s: %v", name, err)
		}
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
	}
	if err := l.Close(); err != nil && !errors.Is(err, wal.ErrSealed) && !errors.Is(err, wal.ErrRetry) {
		t.Errorf("%s: close: %v", name, err)
	}
	if len(a.queue) > 0 {
		t.Errorf("%s: not told of %d records", name, len(a.queue))
	}
}

// TestFaults lets writers follow each other on servers that lose requests and answers, deliver late
// and lag. What was reported as durable is there at its position, what was reported as failed is
// not. RONDO_SEED repeats one seed.
func TestFaults(t *testing.T) {
	for _, seed := range seedtest.Many(t, 40) {
		synctest.Test(t, func(t *testing.T) {
			c := &streamtest.Cluster{Seed: seed}
			all := &outcome{kept: make(map[wal.Pos]string), failed: make(map[string]error)}
			var wg sync.WaitGroup
			for i := range 4 { // two at once, more or less
				r := rand.New(rand.NewPCG(seed, uint64(i)))
				wg.Go(func() {
					time.Sleep(time.Duration(i*5000+r.IntN(5000)) * time.Millisecond)
					(&appender{outcome: all}).write(t, c, r, fmt.Sprintf("writer %d", i))
				})
			}
			wg.Wait()
			all.check(t, c)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// check reads the log and compares it with what was reported.
func (o *outcome) check(t *testing.T, c *streamtest.Cluster) {
	l, err := stream.Open(context.Background(), c.Connect(), stream.Options{Patience: time.Hour})
	if err != nil {
		t.Error(err)
		return
	}
	got := make(map[string]wal.Pos)
	err = l.Replay(1, func(p wal.Pos, rec []byte) error {
		s := string(rec)
		if p != wal.Pos(len(got)+1) || got[s] != 0 {
			t.Errorf("position %d behind %d records; the same record was at %d", p, len(got), got[s])
		}
		got[s] = p
		if e := o.failed[s]; e != nil {
			t.Errorf("position %d has a record that was told as failed: %v", p, e)
		}
		return nil
	})
	for p, rec := range o.kept {
		if got[rec] != p {
			t.Errorf("the record that was told as position %d is at %d", p, got[rec])
		}
	}
	if err != nil || len(o.kept) == 0 || len(got) != len(o.kept) {
		t.Errorf("replay: %d records, %d were told as durable: %v", len(got), len(o.kept), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
