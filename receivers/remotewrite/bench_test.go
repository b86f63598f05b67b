package remotewrite

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang/snappy"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// benchSeries is how many series a benchmark sends in turn.
const benchSeries = 100_000

// discard is a ResponseWriter that keeps the status.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(status int)      { d.status = status }

// BenchmarkRequest reads requests as Prometheus sends them, of 500 and 10,000 samples of 100,000
// series, up to the sink, without HTTP. An operation is a sample. Making requests is not measured.
func BenchmarkRequest(b *testing.B) {
	for _, version := range []int{1, 2} {
		for _, size := range []int{500, 10_000} {
			b.Run(fmt.Sprintf("version=%d/samples=%d", version, size), func(b *testing.B) { benchRequests(b, version, size) })
		}
	}
}

func benchRequests(b *testing.B, version, size int) {
	s, err := newServer(receivers.Config{MaxFuture: -1}, new(receivertest.Nowhere))
	if err != nil {
		b.Fatal(err)
	}
	q := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/v1/write", http.NoBody)
	if version == 2 {
		q.Header.Set("Content-Type", "application/x-protobuf;proto="+message2)
	}
	series := make([]TimeSeries, benchSeries)
	for i := range series {
		series[i].Labels = []Label{
			{"__name__", fmt.Sprintf("node_cpu_seconds_%d_total", i%100)},
			{"cpu", fmt.Sprint(i % 8)},
			{"env", "production"},
			{"instance", fmt.Sprintf("host-%d.example.com:9100", i/100)},
			{"job", "node"},
			{"mode", "idle"},
		}
		series[i].Samples = make([]Sample, 1)
	}
	w := &discard{header: make(http.Header)}
	now := time.Now().UnixMilli()
	round, next := 0, 0
	send := func(measured bool) int {
		part := series[next:min(next+size, len(series))]
		for i := range part {
			part[i].Samples[0] = Sample{float64(round), now + int64(round)*15_000}
		}
		var body []byte
		if version == 1 {
			body = AppendRequest(nil, part, nil)
		} else {
			body = AppendRequest2(nil, part)
		}
		body = snappy.Encode(nil, body)
		if next += len(part); next == len(series) {
			next, round = 0, round+1
		}
		q.Body = receivers.NewWholeBody(body)
		if measured {
			b.StartTimer()
		}
		s.ServeHTTP(w, q)
		if measured {
			b.StopTimer()
		}
		if w.status != http.StatusNoContent {
			b.Fatalf("the answer is %d", w.status)
		}
		return len(part)
	}
	for round < 2 {
		send(false)
	}
	b.ReportAllocs()
	b.ResetTimer()
	b.StopTimer()
	for n := 0; n < b.N; n += send(true) {
	}
}

// TestSteady: a request of known series allocates no more than a few objects, whatever its size.
func TestSteady(t *testing.T) {
	s, err := newServer(receivers.Config{MaxFuture: -1}, new(receivertest.Nowhere))
	if err != nil {
		t.Fatal(err)
	}
	series := make([]TimeSeries, 2000)
	for i := range series {
		series[i] = TimeSeries{Labels: []Label{{"__name__", fmt.Sprint("x", i)}}, Samples: make([]Sample, 1)}
	}
	q := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/write", http.NoBody)
	w := &discard{header: make(http.Header)}
	bodies := make([][]byte, 20)
	for n := range bodies {
		for i := range series {
			series[i].Samples[0] = Sample{1, 1_700_000_000_000 + 15_000*int64(n)}
		}
		bodies[n] = snappy.Encode(nil, bytes.Clone(AppendRequest(nil, series, nil)))
	}
	n := 0
	send := func() {
		q.Body = receivers.NewWholeBody(bodies[n])
		n++
		s.ServeHTTP(w, q)
	}
	send() // makes the series
	send() // shows their step
	allocs := testing.AllocsPerRun(len(bodies)-3, send)
	if w.status != http.StatusNoContent || s.Counters.Stats().Samples != uint64(n*len(series)) {
		t.Fatalf("status %d, %+v", w.status, s.Counters.Stats())
	}
	if allocs > 60 {
		t.Errorf("%v allocations for a request of %d samples", allocs, len(series))
	}
}
