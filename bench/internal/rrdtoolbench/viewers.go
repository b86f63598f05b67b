package rrdtoolbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A ViewersConfig says what Viewers measures.
type ViewersConfig struct {
	Programs // RRDTool is not used
	Viewers  int
	Series   int           // a Write has a sample of each
	Length   time.Duration // of each of the two parts
}

// ViewersResult is how fast a server appends without viewers and with them.
type ViewersResult struct {
	Alone, Watched AppendFigures
	// What the viewers were answered: a graph, that too many are being drawn, and anything else.
	Drawn, Busy, Failed int
}

// AppendFigures are the figures of Writes, one after the other. Each is acknowledged when it is on
// disk.
type AppendFigures struct {
	Writes           int
	Samples          float64 // a second
	Median, P99, Max float64 // milliseconds that a Write takes, as its client sees it
	// ServerP99 is the same without the way there and back: from the arrival of a batch until it is
	// durable and applied. It is the end of a bucket of the server's histogram.
	ServerP99 float64
}

// viewersOf is how many viewers share an address. The server bounds what one address may ask for.
const viewersOf = 20

// A watched is a server that is written to, and looked at.
type watched struct {
	*httpPainter
	c     ViewersConfig
	rpc   rondov1.RondoClient
	began int64 // the time of the first sample, seconds since 1970
	at    int64 // of the last one
}

// Viewers writes to a server as fast as it takes it, first alone, and then while viewers ask for
// graphs, each for another one as soon as it has its answer.
func Viewers(ctx context.Context, c ViewersConfig) (r *ViewersResult, err error) {
	p, err := startHTTP(ctx, c.Dir, c.Rondo)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.end()) }()
	const ago = 30 * 24 * time.Hour
	w := &watched{httpPainter: p, c: c, rpc: rondov1.NewRondoClient(p.client, p.url), began: time.Now().Add(-ago).Unix()}
	w.at = w.began
	c.say("making %d series", c.Series)
	for i := range c.Series {
		_, err := w.rpc.Create(ctx, &rondov1.CreateRequest{
			Path: watchedName(i), Start: strconv.FormatInt(w.began, 10),
			Definition: &rondov1.Definition{Step: 1, Ds: []string{"DS:v:GAUGE:60:U:U"}, Rra: []string{"RRA:AVERAGE:0.5:1:3600", "RRA:AVERAGE:0.5:60:1440"}},
		})
		if err != nil {
			return nil, err
		}
	}
	r = &ViewersResult{}
	c.say("writing alone")
	if r.Alone, err = w.write(ctx); err != nil {
		return nil, err
	}
	c.say("writing while %d viewers look", c.Viewers)
	looking, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards r
	for v := range c.Viewers {
		wg.Go(func() {
			drawn, busy, failed := w.look(looking, v)
			mu.Lock()
			defer mu.Unlock()
			r.Drawn, r.Busy, r.Failed = r.Drawn+drawn, r.Busy+busy, r.Failed+failed
		})
	}
	r.Watched, err = w.write(ctx)
	stop()
	wg.Wait()
	return r, err
}

func watchedName(i int) string { return fmt.Sprintf("host%d/load%d", i/10, i%10) }

// write writes for the length of a part.
func (w *watched) write(ctx context.Context) (f AppendFigures, err error) {
	before, err := w.appends(ctx)
	if err != nil {
		return f, err
	}
	var took []float64
	began := time.Now()
	for len(took) == 0 || time.Since(began) < w.c.Length {
		m := &rondov1.WriteRequest{}
		w.at++
		for i := range w.c.Series {
			v := &rondov1.Value{Value: &rondov1.Value_Float{Float: float64(w.at%100 + int64(i))}}
			m.Samples = append(m.Samples, &rondov1.Sample{Path: watchedName(i), TimeUs: w.at * 1e6, Values: []*rondov1.Value{v}})
		}
		at := time.Now()
		answer, err := w.rpc.Write(ctx, m)
		if err != nil {
			return f, err
		}
		if n := answer.GetAccepted(); n != int64(w.c.Series) {
			return f, fmt.Errorf("%d of %d samples were stored", n, w.c.Series)
		}
		took = append(took, float64(time.Since(at))/float64(time.Millisecond))
	}
	after, err := w.appends(ctx)
	if err != nil {
		return f, err
	}
	f.ServerP99 = before.until(after, 0.99) * 1000
	slices.Sort(took)
	f.Writes, f.Samples = len(took), float64(len(took)*w.c.Series)/time.Since(began).Seconds()
	f.Median, f.P99, f.Max = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	return f, nil
}

// look asks for graphs until ctx ends.
func (w *watched) look(ctx context.Context, v int) (drawn, busy, failed int) {
	host := v / viewersOf
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(host>>8), byte(host&0xff))}}
	t := &http.Transport{DialContext: from.DialContext}
	defer t.CloseIdleConnections()
	client := &http.Client{Transport: t}
	for i := 0; ctx.Err() == nil; i++ {
		a, b := watchedName((v*7+i)%w.c.Series), watchedName((v*3+i*5)%w.c.Series)
		q := url.Values{"arg": {
			"--title", fmt.Sprintf("viewer %d, graph %d", v, i), "DEF:a=" + a + ":v:AVERAGE", "DEF:b=" + b + ":v:AVERAGE",
			"AREA:a#1f6feb:" + a, "LINE1:b#d1242f:" + b, `GPRINT:a:LAST:%8.2lf%s\l`,
		}, "from": {strconv.FormatInt(w.began, 10)}, "to": {strconv.FormatInt(w.began+3600, 10)}}
		code, body, err := ask(ctx, client, w.url+"/graph.svg?"+q.Encode())
		switch {
		case ctx.Err() != nil:
		case err == nil && code == http.StatusOK && len(body) > 0:
			drawn++
		case err == nil && code == http.StatusServiceUnavailable:
			busy++
			select { // as the answer's Retry-After says
			case <-time.After(2 * time.Second):
			case <-ctx.Done():
			}
		default:
			failed++
		}
	}
	return drawn, busy, failed
}

// ask asks for a page.
func ask(ctx context.Context, client *http.Client, address string) (code int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, errors.Join(err, answer.Body.Close())
}

// A cumulated is a histogram of Prometheus: how many values are at most as great as the end of a
// bucket, in the order of the ends.
type cumulated []struct{ end, count float64 }

// appendBucket finds the buckets of how long appends took in the server's metrics.
var appendBucket = regexp.MustCompile(`(?m)^rondo_append_seconds_bucket\{le="([^"]+)"\} (\d+)$`)

// appends returns how long the server's appends took so far, in seconds.
func (w *watched) appends(ctx context.Context) (h cumulated, err error) {
	_, body, err := ask(ctx, w.client, w.url+"/metrics")
	if err != nil {
		return nil, err
	}
	for _, m := range appendBucket.FindAllSubmatch(body, -1) {
		end, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, err
		}
		count, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return nil, err
		}
		h = append(h, struct{ end, count float64 }{end, count})
	}
	if len(h) == 0 {
		return nil, errors.New("the server's metrics have no rondo_append_seconds")
	}
	return h, nil
}

// until returns the end of the bucket that a share of what came between h and a later histogram is
// in or below.
func (h cumulated) until(later cumulated, share float64) float64 {
	all := later[len(later)-1].count - h[len(h)-1].count
	for i := range later {
		if i < len(h) && later[i].count-h[i].count >= share*all {
			return later[i].end
		}
	}
	return math.Inf(1)
}

// WriteViewers prints a result as a table.
func WriteViewers(w io.Writer, r *ViewersResult) error {
	_, err := fmt.Fprintf(w, "%-14s %10s %12s %10s %10s %10s %14s\n", "writing", "writes", "samples/s", "median ms", "p99 ms", "max ms", "server's p99")
	for _, x := range []struct {
		name string
		AppendFigures
	}{{"alone", r.Alone}, {"with viewers", r.Watched}} {
		_, e := fmt.Fprintf(w, "%-14s %10d %12.0f %10.1f %10.1f %10.1f %14.1f\n", x.name, x.Writes, x.Samples, x.Median, x.P99, x.Max, x.ServerP99)
		err = errors.Join(err, e)
	}
	_, e := fmt.Fprintf(w, "graphs: %d drawn, %d asked to come again, %d failed\n", r.Drawn, r.Busy, r.Failed)
	return errors.Join(err, e)
}
