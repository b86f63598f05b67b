package api_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/prom/promtest"
)

// nowhere takes an answer and keeps nothing of it.
type nowhere struct {
	header http.Header
	bytes  int64
}

func (n *nowhere) Header() http.Header { return n.header }
func (n *nowhere) WriteHeader(int)     {}
func (n *nowhere) Write(b []byte) (int, error) {
	n.bytes += int64(len(b))
	return len(b), nil
}

// BenchmarkAnswer evaluates queries over an hour of samples in memory and writes the answers as
// JSON: what the API costs beside the storage.
func BenchmarkAnswer(b *testing.B) {
	for _, series := range []int{100, 10_000} {
		var m promtest.Memory
		for i := range series {
			ls := labels.FromStrings("__name__", "load", "host", "host-"+strconv.Itoa(i), "job", strconv.Itoa(i%20))
			var s []promtest.Sample
			for at := range int64(240) {
				s = append(s, promtest.Sample{Time: (base + at*15) * 1000, Value: float64(i) + 1/float64(at+1)})
			}
			m.Put(ls, s)
		}
		h := api.New(api.Config{Storage: &m})
		for name, query := range map[string]string{
			"instant": fmt.Sprintf("query?query=sum+by+(job)(load)&time=%d", base+3600),
			"range":   fmt.Sprintf("query_range?query=load&start=%d&end=%d&step=15", base, base+3600),
		} {
			b.Run(fmt.Sprintf("query=%s/series=%d", name, series), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					w := &nowhere{header: make(http.Header)}
					h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, api.Prefix+query, http.NoBody))
					b.SetBytes(w.bytes)
				}
			})
		}
	}
}
