package sink_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// submit hands one sample of each series to the sink, the series in the order of paths.
func submit(t *testing.T, to *sink.Sink, sender string, at int64, paths ...string) {
	t.Helper()
	reqs := requests(sender, paths...)
	if err := to.Resolve(t.Context(), reqs); err != nil {
		t.Fatal(err)
	}
	b := new(core.Batch)
	for _, r := range reqs {
		b.Add(r.Ref, rra.Seconds(at), rra.Float(1))
	}
	p, err := to.Submit(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
}

// TestSendersAreCounted: nothing showed how much each sender sends, and which of them are silent.
func TestSendersAreCounted(t *testing.T) {
	now := time.Unix(1_700_000_000, 0).UTC()
	began := now
	to := sink.New(enginetest.Open(t), sink.Options{Now: func() time.Time { return now }})
	submit(t, to, "web1", 1_700_000_010, "a/1", "a/2", "a/3")
	submit(t, to, "web2", 1_700_000_010, "b/1")
	now = now.Add(time.Minute)
	submit(t, to, "web1", 1_700_000_020, "a/3", "a/1")
	submit(t, to, "web1", 1_700_000_020, "c/web1/1") // by another protocol
	submit(t, to, "web3", 1_700_000_020, "b/1")      // a host may get another name
	got := to.Senders()
	for i := range got {
		got[i].First, got[i].Last = got[i].First.UTC(), got[i].Last.UTC()
	}
	want := []sink.Sender{
		{Name: "web1", Prefix: "a", Folder: "a", First: began, Last: now, Samples: 5, Series: 3},
		{Name: "web1", Prefix: "c", Folder: "c/web1", First: now, Last: now, Samples: 1, Series: 1},
		{Name: "web2", Prefix: "b", Folder: "b", First: began, Last: began, Samples: 1, Series: 0},
		{Name: "web3", Prefix: "b", Folder: "b", First: now, Last: now, Samples: 1, Series: 1},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("senders differ (-want +got):\n%s", d)
	}
}

// TestSendersAreBounded: senders beyond the bound share one record.
func TestSendersAreBounded(t *testing.T) {
	store := new(fakeStore)
	to := sink.New(store, sink.Options{SenderBurst: -1})
	const most, more = 4096, 10
	for i := range most + more {
		reqs := requests(fmt.Sprint("web", i), fmt.Sprint("a/", i%7)) // few series: the fake looks slowly
		if err := to.Resolve(t.Context(), reqs); err != nil {
			t.Fatal(err)
		}
		b := new(core.Batch)
		b.Add(reqs[0].Ref, 1, rra.Float(1))
		if _, err := to.Submit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	var samples uint64
	senders := to.Senders()
	for _, s := range senders {
		samples += s.Samples
		if s.Name == sink.OtherSenders && s.Samples != more {
			t.Errorf("%d samples of the other senders, want %d", s.Samples, more)
		}
	}
	if len(senders) != most+1 || samples != most+more {
		t.Errorf("%d senders with %d samples, want %d with %d", len(senders), samples, most+1, most+more)
	}
}

// TestSendersAreCountedConcurrently: several receivers resolve and submit at the same time.
func TestSendersAreCountedConcurrently(t *testing.T) {
	to := sink.New(enginetest.Open(t), sink.Options{})
	const receivers, rounds = 4, 50
	var wg sync.WaitGroup
	for r := range receivers {
		wg.Go(func() {
			for i := range rounds {
				submit(t, to, fmt.Sprint("web", r), 1_700_000_010+int64(i), fmt.Sprintf("p%d/%d", r, i), fmt.Sprintf("p%d/all", r))
			}
		})
	}
	wg.Wait()
	senders := to.Senders()
	if len(senders) != receivers {
		t.Fatalf("%d senders, want %d", len(senders), receivers)
	}
	for _, s := range senders {
		if s.Series != rounds+1 || s.Samples != 2*rounds {
			t.Errorf("%s: %d series and %d samples, want %d and %d", s.Name, s.Series, s.Samples, rounds+1, 2*rounds)
		}
	}
}

// BenchmarkSubmit submits full batches of many senders to a store that does nothing.
func BenchmarkSubmit(b *testing.B) {
	const senders, series, samples = 100, 40, 16384
	store := new(fakeStore)
	to := sink.New(store, sink.Options{SenderBurst: -1})
	var refs []core.Ref
	for i := range senders {
		var paths []string
		for k := range series {
			paths = append(paths, fmt.Sprintf("a/%d/%d", i, k))
		}
		reqs := requests(fmt.Sprint("web", i), paths...)
		if err := to.Resolve(b.Context(), reqs); err != nil {
			b.Fatal(err)
		}
		for _, r := range reqs {
			refs = append(refs, r.Ref)
		}
	}
	batch := new(core.Batch)
	for i := range samples {
		batch.Add(refs[i%len(refs)], rra.Seconds(int64(i)), rra.Float(1))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := to.Submit(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/samples, "ns/sample")
}
