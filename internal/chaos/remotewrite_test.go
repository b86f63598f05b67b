package chaos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/internal/localcluster"
)

// remoteWriteDoor speaks Prometheus' remote write. All series are counters.
type remoteWriteDoor struct {
	url      [localcluster.Machines]string
	instance string
	all      []series
	counters []counter
	client   http.Client
}

func newRemoteWriteDoor(url [localcluster.Machines]string, instance string, n int, start int64) *remoteWriteDoor {
	d := &remoteWriteDoor{url: url, instance: instance, client: http.Client{Transport: new(http.Transport)}}
	for i := range n {
		d.all = append(d.all, series{
			path: fmt.Sprintf("prometheus/chaos/%s/s%d_total", instance, i), start: start, first: 2,
			row: func(n int) float64 { return level(i, n) },
		})
		d.counters = append(d.counters, counter{series: i})
	}
	return d
}

func (d *remoteWriteDoor) series() []series                   { return d.all }
func (d *remoteWriteDoor) prepare(context.Context, int) error { return nil }
func (d *remoteWriteDoor) close()                             { d.client.CloseIdleConnections() }

func (d *remoteWriteDoor) send(ctx context.Context, node int, b batch) (late int, err error) {
	all := make([]prompb.TimeSeries, len(d.all))
	for i, s := range d.all {
		all[i].Labels = []prompb.Label{
			{Name: "__name__", Value: fmt.Sprintf("s%d_total", i)}, {Name: "instance", Value: d.instance}, {Name: "job", Value: "chaos"},
		}
		for n := b.from; n < b.from+b.samples; n++ {
			all[i].Samples = append(all[i].Samples, prompb.Sample{Value: d.counters[i].at(n), Timestamp: 1000 * (s.start + int64(n))})
		}
	}
	body, err := (&prompb.WriteRequest{Timeseries: all}).Marshal()
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url[node]+"/api/v1/write", bytes.NewReader(snappy.Encode(nil, body)))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	answer, err := d.client.Do(r)
	if err != nil {
		return 0, err
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<16))
	_ = answer.Body.Close() // it was read
	if err != nil {
		return 0, err
	}
	switch {
	case answer.StatusCode/100 == 2:
		return 0, nil
	case answer.StatusCode == http.StatusBadRequest && (strings.Contains(string(text), "out of order") || strings.Contains(string(text), "duplicate")):
		return len(d.all), nil // what was not late is stored
	case answer.StatusCode/100 == 5 || answer.StatusCode == http.StatusTooManyRequests:
		return 0, fmt.Errorf("%w: %s", errTryAgain, text)
	}
	return 0, &unexpectedError{fmt.Sprintf("%s: %s", answer.Status, text)}
}
