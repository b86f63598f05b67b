package clustered

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/influx"
	"github.com/rondo-db/rondo/receivers/otlp"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/receivers/sink"
)

// leaders are the leaders of some partitions, which may all be away.
type leaders struct {
	stores [3]*core.Store
	away   atomic.Bool
}

func (p *leaders) Partitions() int { return len(p.stores) }

func (p *leaders) Leader(ctx context.Context, i int) (core.Engine, error) {
	if p.away.Load() {
		<-ctx.Done()
		return nil, fmt.Errorf("nobody leads: %w", core.ErrUnavailable)
	}
	return p.stores[i], nil
}

func (p *leaders) Reader(_ context.Context, i int) (core.Engine, error) { return p.stores[i], nil }

// serve runs a receiver over a store until the test ends, and returns where it listens.
func serve(t *testing.T, p receivers.Protocol, store sink.Engine) string {
	t.Helper()
	r, err := p.New(receivers.Config{Address: "127.0.0.1:0", MaxFuture: -1}, sink.New(store, sink.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	h, ok := r.(receivers.Handler)
	if !ok {
		t.Fatalf("the receiver %s answers no requests", p.Name)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx) }()
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		server.Close()
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return server.URL
}

// ask sends a request, and returns the answer in words.
func ask(t *testing.T, url string, body []byte) string {
	t.Helper()
	kind := "application/x-protobuf"
	if bytes.HasPrefix(body, []byte("{")) {
		kind = "application/json"
	}
	a, err := http.Post(url, kind, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	if err := errors.Join(err, a.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d Retry-After %q: %s", a.StatusCode, a.Header.Get("Retry-After"), text)
}

// late returns the name of a series and the time of its sample: of "x late" it is an old one.
func late(name string, n int) (string, int) {
	if of, ok := strings.CutSuffix(name, " late"); ok {
		return of, 15
	}
	return name, n
}

// TestAnswersOfReceivers: remote write, OTLP and influx over HTTP answer in a cluster as on one machine,
// also where samples are refused or sent again. While nobody leads they answer 503 with Retry-After.
func TestAnswersOfReceivers(t *testing.T) {
	var p leaders
	for i := range p.stores {
		p.stores[i] = enginetest.Open(t)
	}
	many, err := router.New(&p, router.Options{Wait: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	one := enginetest.Open(t)
	write := func(n int, names ...string) []byte {
		var all []prompb.TimeSeries
		for _, name := range names {
			name, n := late(name, n)
			all = append(all, prompb.TimeSeries{
				Labels: []prompb.Label{{Name: "__name__", Value: name}, {Name: "job", Value: "j"}}, Samples: []prompb.Sample{{Timestamp: 1_700_000_000_000 + int64(n)*1000, Value: float64(n)}},
			})
		}
		body, err := (&prompb.WriteRequest{Timeseries: all}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return snappy.Encode(nil, body)
	}
	lines := func(n int, names ...string) (body []byte) {
		for _, name := range names {
			name, n := late(name, n)
			body = fmt.Appendf(body, "%s,host=h value=%d %d000000000\n", name, n, 1_700_000_000+n)
		}
		return body
	}
	points := func(n int, names ...string) []byte {
		var all []string
		for _, name := range names {
			name, n := late(name, n)
			all = append(all, fmt.Sprintf(`{"name":%q,"gauge":{"dataPoints":[{"timeUnixNano":"%d000000000","asDouble":%d}]}}`, name, 1_700_000_000+n, n))
		}
		return fmt.Appendf(nil, `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[%s]}]}]}`, strings.Join(all, ","))
	}
	for name, x := range map[string]struct {
		protocol receivers.Protocol
		path     string
		body     func(n int, names ...string) []byte
	}{
		"remote write": {remotewrite.Protocol, "/api/v1/write", write},
		"influx":       {influx.HTTP, "/write", lines},
		"otlp":         {otlp.Protocol, "/v1/metrics", points},
	} {
		t.Run(name, func(t *testing.T) {
			here, there := serve(t, x.protocol, one)+x.path, serve(t, x.protocol, many)+x.path
			for _, step := range []struct {
				what string
				body []byte
			}{
				{"new series", x.body(10, "a", "b", "c", "d", "e")},
				{"more", x.body(20, "a", "b", "c", "d", "e")},
				{"the same again", x.body(20, "a", "b", "c", "d", "e")},
				{"some are late", x.body(30, "a late", "b late", "c", "d")},
				{"an older one", x.body(5, "a", "b", "c")},
				{"garbage", []byte("x")},
			} {
				if want, got := ask(t, here, step.body), ask(t, there, step.body); got != want {
					t.Errorf("%s: a cluster answers\n%s\none machine\n%s", step.what, got, want)
				} else {
					t.Logf("%s: %s", step.what, got)
				}
			}
			p.away.Store(true)
			defer p.away.Store(false)
			if got := ask(t, there, x.body(40, "a", "b")); !bytes.HasPrefix([]byte(got), []byte(`503 Retry-After "1": `)) {
				t.Errorf("nobody leads: %s", got)
			} else {
				t.Log(got)
			}
		})
	}
}
