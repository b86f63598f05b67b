package influx

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
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
	r := &reader{intake: newIntake(cfg, sink, 10), bad: func(error, int) {}}
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
				if r.cache.fields.Len() != keys*fields || r.Stats().Dropped[receivers.Malformed] > 0 {
					b.Fatalf("%d series, %+v", r.cache.fields.Len(), r.Stats())
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

// A client sends lines of its own series, one for each, with the next time in each round.
type client struct {
	bodies [][]byte // of a request each
	round  int
}

// linesOf is how many lines a request of a client has.
const linesOf = 5000

func newClient(id, series int) *client {
	c := new(client)
	for from := 0; from < series; from += linesOf {
		var body []byte
		for i := from; i < from+linesOf; i++ {
			body = fmt.Appendf(body, "cpu,cpu=cpu%d,host=host%d.%05d.example.org usage_idle=%d.5 0000000000\n", i%10, id, i/10, i%100)
		}
		c.bodies = append(c.bodies, body)
	}
	return c
}

// send makes s handle the requests of one round.
func (c *client) send(b *testing.B, s *httpServer) {
	c.round++
	at := fmt.Appendf(nil, "%d", receivertest.Epoch+10*c.round)
	for _, body := range c.bodies {
		for i := len(body); i > 0; i = bytes.LastIndexByte(body[:i-1], '\n') + 1 {
			copy(body[i-11:], at)
		}
		q := httptest.NewRequest(http.MethodPost, "/write?precision=s", nil)
		q.Body = receivers.NewWholeBody(body)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, q); w.Code != http.StatusNoContent {
			b.Errorf("%d %s", w.Code, w.Body)
		}
	}
}

// BenchmarkStored is requests of 5000 lines with one field each, by some clients at a time, until
// they are durable in a store: lines/s is the figure. There is no network between.
func BenchmarkStored(b *testing.B) {
	for _, clients := range []int{1, 4} {
		const series = 20_000 // of each client
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			store := enginetest.OpenDir(b, b.TempDir(), core.Options{})
			r, err := newHTTP(receivers.Config{MaxFuture: -1}, sink.New(store, sink.Options{SenderBurst: -1}))
			if err != nil {
				b.Fatal(err)
			}
			s := r.(*httpServer)
			ctx, stop := context.WithCancel(b.Context())
			var serving, sending sync.WaitGroup
			serving.Go(func() { _ = s.Serve(ctx) }) // it returns nil
			all := make([]*client, clients)
			for i := range all {
				all[i] = newClient(i, series)
				all[i].send(b, s)
			}
			b.ResetTimer()
			for i := range all {
				sending.Go(func() {
					for range b.N {
						all[i].send(b, s)
					}
				})
			}
			sending.Wait()
			b.ReportMetric(float64(b.N*clients*series)/b.Elapsed().Seconds(), "lines/s")
			b.StopTimer()
			stop()
			serving.Wait()
		})
	}
}
