package remotewrite_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/golang/snappy"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/remotewrite"
)

// TestConcurrent: shards send at the same time, series of their own and new ones that all have, and
// each sample is stored once, in its order.
func TestConcurrent(t *testing.T) {
	r := start(t, "remotewrite-step", "10")
	const shards, rounds = 8, 20
	var wg sync.WaitGroup
	for shard := range shards {
		wg.Go(func() {
			for n := range rounds {
				series := []remotewrite.TimeSeries{
					ts(fmt.Sprint("own job=", shard), sample(10*n, float64(n))),
					ts(fmt.Sprint("new_", n), sample(shard, 1)),
				}
				a := r.Ask(snappy.Encode(nil, remotewrite.AppendRequest(nil, series, nil)))
				if a.Status != 204 && a.Status != 400 { // of those that all have, later ones may be first
					t.Errorf("the answer is %d %s", a.Status, a.Text)
				}
			}
		})
	}
	wg.Wait()
	for shard := range shards {
		var want []kept
		for n := range rounds {
			want = append(want, kept{float64(10 * n), float64(n)})
		}
		r.want(fmt.Sprintf("prometheus/%d/-/own", shard), want...)
	}
	for n := range rounds {
		last := -1.0
		for _, s := range r.samples(fmt.Sprintf("prometheus/-/-/new_%d", n)) {
			if s.At <= last {
				t.Errorf("sample at %v after that at %v", s.At, last)
			}
			last = s.At
		}
		if last != shards-1 {
			t.Errorf("the last sample is at %v, want %d", last, shards-1)
		}
	}
	if got, want := len(r.Recorder.Series()), shards+rounds; got != want {
		t.Errorf("%d series, want %d", got, want)
	}
}

// forgetful is a sink that refuses every sample of a batch once the test asks, as if their series
// had been dropped.
type forgetful struct {
	receivertest.Recorder
	forget atomic.Bool
}

func (f *forgetful) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	if f.forget.Swap(false) {
		return refused{&core.RejectedError{Other: b.Len(), First: []core.Rejection{{Err: core.ErrNotFound}}}}, nil
	}
	return f.Recorder.Submit(ctx, b)
}

type refused struct{ err error }

func (r refused) Wait() error { return r.err }

// TestDropped: when a series was dropped, its sender is asked to send again, and the series is made
// anew.
func TestDropped(t *testing.T) {
	sink := new(forgetful)
	var rec receivers.Receiver
	c := testCase
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (r receivers.Receiver, err error) {
		rec, err = remotewrite.Protocol.New(cfg, sink)
		return rec, err
	}
	r := running{receivertest.Start(t, c, &sink.Recorder, nil), t}
	r.send(204, "", ts("x", sample(0, 1)))
	sink.forget.Store(true)
	if a := r.send(503, "a series was dropped", ts("x", sample(15, 2))); a.Header.Get("Retry-After") == "" {
		t.Error("the answer has no Retry-After")
	}
	r.send(204, "", ts("x", sample(15, 2)))
	r.want("prometheus/-/-/x", kept{0, 1}, kept{15, 2})
}

// hanging is a sink whose next batch has no outcome until the channel says which.
type hanging struct {
	receivertest.Recorder
	next  atomic.Bool
	taken chan struct{}
	end   chan error
}

func (h *hanging) Submit(ctx context.Context, b *core.Batch) (receivers.Pending, error) {
	if h.next.Swap(false) {
		h.taken <- struct{}{}
		return h, nil
	}
	return h.Recorder.Submit(ctx, b)
}

func (h *hanging) Wait() error { return <-h.end }

// A request that was sent again while its first attempt was on its way got the answer that its
// samples were stored, or late. Then the first attempt failed, and they were nowhere.
func TestSentAgainBeforeTheOutcome(t *testing.T) {
	sink := &hanging{taken: make(chan struct{}), end: make(chan error)}
	var rec receivers.Receiver
	c := testCase
	c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (r receivers.Receiver, err error) {
		rec, err = remotewrite.Protocol.New(cfg, sink)
		return rec, err
	}
	r := running{receivertest.Start(t, c, &sink.Recorder, nil), t}
	r.send(204, "", ts("x", sample(0, 1)))
	sink.next.Store(true)
	body := snappy.Encode(nil, remotewrite.AppendRequest(nil, []remotewrite.TimeSeries{ts("x", sample(15, 2), sample(30, 3))}, nil))
	first := make(chan int)
	go func() { first <- r.Ask(body).Status }()
	<-sink.taken
	r.send(204, "", ts("x", sample(15, 2), sample(30, 3)))
	sink.end <- core.ErrUnavailable
	if status := <-first; status != 503 {
		t.Errorf("the first attempt: %d", status)
	}
	r.want("prometheus/-/-/x", kept{0, 1}, kept{15, 2}, kept{30, 3})
	r.send(204, "", ts("x", sample(45, 4))) // and it goes on
	r.want("prometheus/-/-/x", kept{0, 1}, kept{15, 2}, kept{30, 3}, kept{45, 4})
}
