package influx

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// workload returns one line for each of some keys, with the same number of fields each.
func workload(keys, fields int) (input []byte) {
	for i := range keys {
		input = fmt.Appendf(input, "cpu,host=host%05d.example.org,region=eu-west,cpu=cpu%d ", i/10, i%10)
		for f := range fields {
			if f > 0 {
				input = append(input, ',')
			}
			input = fmt.Appendf(input, "usage_%02d=%d.%d", f, i%100, f)
		}
		input = fmt.Appendf(input, " %d000000000\n", receivertest.Epoch)
	}
	return input
}

// offline returns a reader without a socket, and what ends it.
func offline(sink receivers.Sink) (*reader, *receivers.Queue) {
	cfg := receivers.Config{MaxFuture: -1}.WithDefaults()
	r := &reader{intake: newIntake(cfg, sink, 10), bad: func(error) {}}
	q := receivers.NewQueue(sink, &r.Counters, cfg)
	r.out = q
	r.begin(cfg.Now())
	return r, q
}

// all reads all of input.
func (r *reader) all(tb testing.TB, input []byte) {
	r.dec.Reset(input, Nanoseconds, true)
	for through := false; !through; {
		through = r.read()
		if err := r.resolve(context.Background()); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkReceive is all of a receiver but the socket and the store: decode, look up, add to a
// batch.
func BenchmarkReceive(b *testing.B) {
	for _, keys := range []int{1000, 100_000} {
		for _, fields := range []int{1, 10} {
			b.Run(fmt.Sprintf("keys=%d/fields=%d", keys, fields), func(b *testing.B) {
				input := workload(keys, fields)
				r, q := offline(new(receivertest.Nowhere))
				defer q.Stop()
				r.all(b, input)
				b.SetBytes(int64(len(input)))
				b.ReportAllocs()
				for b.Loop() {
					r.all(b, input)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*keys), "ns/line")
				if r.cache.len() != keys*fields || r.Stats().Dropped[receivers.Malformed] > 0 {
					b.Fatalf("%d series, %+v", r.cache.len(), r.Stats())
				}
			})
		}
	}
}

// TestNoAllocation: lines whose series are known cost no memory.
func TestNoAllocation(t *testing.T) {
	input := workload(100, 5)
	r, q := offline(new(receivertest.Nowhere))
	defer q.Stop()
	r.all(t, input)
	if n := testing.AllocsPerRun(20, func() { r.all(t, input) }); n > 1 {
		t.Errorf("%v allocations for 100 lines", n)
	}
}
