package smon

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// A workload is a stream that defines names at indexes, and then rounds of one value each: of
// counters that have risen by a random number.
type workload struct {
	define []byte
	rounds [][]byte
	values int // of a round
}

func newWorkload(b testing.TB, names, indexes int, rise uint64) workload {
	b.Helper()
	var e Encoder
	random := uint64(1)
	last := make([]uint64, names*indexes)
	round := func() {
		for i := range indexes { // as a sender reads: one device after the other
			for n := range names {
				random = random*6364136223846793005 + 1442695040888963407
				v := &last[i*names+n]
				*v += (random >> 33) % rise
				var index []uint64
				if indexes > 1 {
					index = []uint64{uint64(i)}
				}
				if err := e.Unsigned(fmt.Sprintf("linux.counter.%d", n), index, *v); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	w := workload{values: names * indexes}
	round()
	round()
	w.define = append(w.define, e.Bytes()...)
	for range 8 {
		e.Clear()
		round()
		w.rounds = append(w.rounds, append([]byte(nil), e.Bytes()...))
	}
	return w
}

// bytes returns how many bytes the rounds have.
func (w *workload) bytes() (n int) {
	for _, r := range w.rounds {
		n += len(r)
	}
	return n
}

var workloads = []struct {
	name           string
	names, indexes int
	rise           uint64
}{
	{"differences=1byte", 100, 1, 200},
	{"differences=3bytes", 100, 1, 1 << 16},
	{"indexes=100", 20, 100, 200},
	{"indexes=1000", 50, 1000, 1 << 16},
}

// BenchmarkDecode is bytes to values; ns/value is the figure.
func BenchmarkDecode(b *testing.B) {
	for _, bm := range workloads {
		b.Run(bm.name, func(b *testing.B) {
			w := newWorkload(b, bm.names, bm.indexes, bm.rise)
			var d Decoder
			var c counter
			d.feed(w.define, &c)
			var in bytes.Reader
			b.SetBytes(int64(w.bytes()))
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range w.rounds {
					in.Reset(r)
					_ = d.Decode(&in, &c) // io.EOF
				}
			}
			if c.invalid > 0 {
				b.Fatal("the stream is invalid")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(w.rounds)*w.values), "ns/value")
		})
	}
}

// BenchmarkEncode is values to bytes.
func BenchmarkEncode(b *testing.B) {
	var e Encoder
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("linux.counter.%d", i)
	}
	b.ReportAllocs()
	for n := uint64(0); b.Loop(); n++ {
		e.Clear()
		for i, name := range names {
			if err := e.Unsigned(name, nil, n*uint64(i)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/value")
}

// newBenchServer returns a receiver whose sink keeps nothing.
func newBenchServer(b testing.TB) *server {
	b.Helper()
	r, err := newServer(receivers.Config{}, new(receivertest.Nowhere))
	if err != nil {
		b.Fatal(err)
	}
	return r.(*server)
}

// stream returns a stream of a peer, with its queue running until the benchmark ends.
func (s *server) stream(b testing.TB, in *bytes.Reader) *source {
	q := receivers.NewSharedQueue(s.Sink, &s.Counters, s.Config)
	b.Cleanup(q.Stop)
	return s.newSource(&streams.Stream{Reader: in, Peer: "10.0.0.1", Host: "10.0.0.1", Queue: q})
}

// feedAll feeds p through in, in pieces as a connection reads them.
func (c *source) feedAll(in *bytes.Reader, p []byte) {
	in.Reset(p)
	_ = c.decode(context.Background()) // io.EOF
}

// BenchmarkReceive is all of a receiver but the socket and the store: decode, look up, add to a
// batch.
func BenchmarkReceive(b *testing.B) {
	for _, bm := range workloads {
		b.Run(bm.name, func(b *testing.B) {
			w := newWorkload(b, bm.names, bm.indexes, bm.rise)
			s := newBenchServer(b)
			in := new(bytes.Reader)
			c := s.stream(b, in)
			c.feedAll(in, w.define)
			c.feedAll(in, w.rounds[0])
			b.SetBytes(int64(w.bytes()))
			b.ReportAllocs()
			for b.Loop() {
				for _, r := range w.rounds {
					c.feedAll(in, r)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(w.rounds)*w.values), "ns/value")
			if st := s.Stats(); st.Dropped[receivers.Malformed]+st.Dropped[receivers.State] > 0 || st.Samples == 0 {
				b.Fatalf("%+v", st)
			}
		})
	}
}

// TestReceiveAllocates: once its series are known, a stream costs no allocation a value.
func TestReceiveAllocates(t *testing.T) {
	w := newWorkload(t, 50, 100, 1<<16)
	s := newBenchServer(t)
	in := new(bytes.Reader)
	c := s.stream(t, in)
	c.feedAll(in, w.define)
	for range 100 { // the queue's batches grow to their size
		for _, r := range w.rounds {
			c.feedAll(in, r)
		}
	}
	n := testing.AllocsPerRun(20, func() {
		for _, r := range w.rounds {
			c.feedAll(in, r)
		}
	})
	// The batches that are on their way are others each time; the last of them may still grow.
	if values := float64(len(w.rounds) * w.values); n > values/1000 {
		t.Errorf("%v allocations for %v values, want next to none", n, values)
	}
}
