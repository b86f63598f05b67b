package statsd

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// offline returns a source of a receiver whose sink keeps nothing.
func offline(b testing.TB) *source {
	b.Helper()
	cfg := receivers.Config{}.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		b.Fatal(err)
	}
	s := &server{cfg: cfg, set: set, sink: new(receivertest.Nowhere), metrics: newAggregator(set, 100), base: b.Context()}
	s.asks = receivers.NewResolver(s.sink, cfg, prefix)
	return &source{server: s, host: "10.0.0.1", now: 105}
}

// BenchmarkReceive is bytes to aggregates.
func BenchmarkReceive(b *testing.B) {
	for _, kind := range []string{"c", "g", "ms", "ms|#host:web1,code:200", "s"} {
		for _, names := range []int{100, 10_000} {
			b.Run(fmt.Sprintf("type=%s/names=%d", kind, names), func(b *testing.B) {
				c := offline(b)
				var text []byte
				for i := range names {
					text = fmt.Appendf(text, "app.web.requests.handler%d:%d|%s\n", i, i, kind)
				}
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					c.lines(text)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*names), "ns/reading")
			})
		}
	}
}

// TestReceiveAllocates: a reading of a metric that is known costs no allocation.
func TestReceiveAllocates(t *testing.T) {
	c := offline(t)
	text := []byte("a:1|c\nb:2|g|#x:1\nc:3|ms|@0.5\nd:4|s\ne,x=1:5:6|h\n")
	for range 10_000 {
		c.lines(text)
	}
	// The closure that takes the readings of a line may be one.
	if n := testing.AllocsPerRun(100, func() { c.lines(text) }); n > 10 {
		t.Errorf("%v allocations for 6 readings", n)
	}
}
