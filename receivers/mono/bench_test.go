package mono

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// workload returns an agent with n counters of every type that has said hello, and samples of it.
// In each, quiet of 100 counters have not changed.
func workload(t testing.TB, n, quiet int) (*agent, [][]byte) {
	t.Helper()
	r, err := newServer(receivers.Config{MaxFuture: -1, InFlight: 1}, new(receivertest.Nowhere))
	if err != nil {
		t.Fatal(err)
	}
	s := r.(*server)
	a := &agent{s: s, Stream: &streams.Stream{
		Peer: "10.0.0.7", Host: "10.0.0.7", Queue: receivers.NewSharedQueue(s.Sink, &s.Counters, s.Config),
	}}
	cs := make([]Counter, n)
	values := make([]Value, n)
	for i := range cs {
		cs[i] = Counter{Category: Category(i % 9), Name: fmt.Sprintf("counter %d", i), Type: Type(i % 4), Variance: Monotonic, Index: int16(i)}
		values[i] = Value{Index: int16(i), Type: cs[i].Type}
	}
	feed := a.feeder(t)
	feed(must(AppendHello(nil, cs)))
	feed(must(AppendSample(nil, at(0), values))) // makes the series
	rnd := rand.New(rand.NewPCG(1, 2))
	samples := make([][]byte, 10)
	for i := range samples {
		var changed []Value
		for j := range values {
			if rnd.IntN(100) >= quiet {
				values[j].Bits += rnd.Uint64N(1000)
				changed = append(changed, values[j])
			}
		}
		samples[i] = must(AppendSample(nil, at(i), changed))
	}
	return a, samples
}

// feeder returns a function that has a decode bytes.
func (a *agent) feeder(t testing.TB) func(b []byte) {
	in := new(bytes.Reader)
	a.Reader = in
	return func(b []byte) {
		in.Reset(b)
		if err := a.decode(context.Background()); err != io.EOF {
			t.Fatal(err)
		}
	}
}

// BenchmarkDecode is bytes to values.
func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{20, 1000, MaxCounters} {
		b.Run(fmt.Sprintf("counters=%d", n), func(b *testing.B) {
			a, samples := workload(b, n, 0)
			defer a.Queue.Stop()
			size, in := 0, new(bytes.Reader)
			for _, s := range samples {
				size += len(s)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				for _, s := range samples {
					in.Reset(s)
					if err := a.dec.Decode(in, discard{}); err != io.EOF {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*len(samples)), "ns/value")
		})
	}
}

// BenchmarkReceive is all of a receiver but the socket and the store: decode, carry forward, add to
// a batch.
func BenchmarkReceive(b *testing.B) {
	for _, n := range []int{20, 1000, MaxCounters} {
		for _, quiet := range []int{0, 90} {
			b.Run(fmt.Sprintf("counters=%d/quiet=%d%%", n, quiet), func(b *testing.B) {
				a, samples := workload(b, n, quiet)
				defer a.Queue.Stop()
				feed := a.feeder(b)
				b.ReportAllocs()
				for b.Loop() {
					for _, s := range samples {
						feed(s)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*len(samples)), "ns/value")
				if st := a.s.Stats(); st.Dropped[receivers.State] > 0 || st.Series != int64(n) {
					b.Fatalf("%+v", st)
				}
			})
		}
	}
}
