package statsd

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// counted is the sum of the samples of a counter.
func counted(samples []receivertest.Sample) (sum float64) {
	for _, x := range samples {
		sum += math.Float64frombits(x.Values[0].Bits)
	}
	return sum
}

// TestCountsAreComplete: over flushes by the clock and the one at the end, everything that was sent
// is counted once.
func TestCountsAreComplete(t *testing.T) {
	const conns, each, rounds = 4, 50, 20
	p := Protocol
	p.Network = "tcp"
	c := receivertest.Case{Protocol: p, Options: map[string][]string{"statsd-step": {"1"}}}
	r := receivertest.Start(t, c, new(receivertest.Recorder), func(cfg *receivers.Config) { cfg.Now = time.Now })
	for n := range conns {
		conn := r.Dial()
		go func() {
			for range rounds {
				for range each {
					if _, err := fmt.Fprintf(conn, "hits:1|c\nhits:2|c|#conn:%d\n", n); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
	}
	r.Until("a flush", func(s receivertest.State) bool { return counted(s.Samples) > 0 })
	for r.Stats().Packets < 2*conns*each*rounds {
		time.Sleep(time.Millisecond)
	}
	r.Stop()
	if got := counted(r.Recorder.Samples()); got != 3*conns*each*rounds {
		t.Errorf("%v are counted, want %d", got, 3*conns*each*rounds)
	}
	last := make(map[string]rra.Time)
	for _, x := range r.Recorder.Samples() {
		if x.At <= last[x.Path] {
			t.Errorf("%s: %v after %v", x.Path, x.At.Std(), last[x.Path].Std())
		}
		last[x.Path] = x.At
	}
	if s := r.Recorder.Series(); len(s) != conns+1 || s[0].Definition.Step != 1 || s[0].Definition.Sources[0].Kind != rra.Absolute {
		t.Errorf("%d series: %+v", len(s), s)
	}
}

// TestSeriesOfTimers: a timer is one series with a data source for each statistic. Where the series
// is there with other data sources, those that it has are filled in.
func TestSeriesOfTimers(t *testing.T) {
	rec := new(receivertest.Recorder)
	for i, percentiles := range []string{"50,90", "90,99.9"} {
		c := suite("udp")
		c.Options["statsd-percentiles"] = []string{percentiles}
		r := receivertest.Start(t, c, rec, nil)
		r.Send([]byte("t:3|ms\n"))
		r.UntilSamples(i + 1)
		r.Stop()
	}
	s := rec.Series()
	if len(s) != 1 || s[0].Path != "statsd/timers/t" {
		t.Fatalf("series %+v", s)
	}
	var names strings.Builder
	for _, ds := range s[0].Definition.Sources {
		names.WriteString(ds.Name + ":" + ds.Kind.String() + " ")
	}
	const want = "count:ABSOLUTE sum:ABSOLUTE mean:GAUGE lower:GAUGE upper:GAUGE std:GAUGE median:GAUGE p50:GAUGE p90:GAUGE "
	if names.String() != want {
		t.Errorf("data sources %s, want %s", names.String(), want)
	}
	x := rec.Samples()
	if a, b := x[0].Values, x[1].Values; len(a) != 9 || len(b) != 9 || a[7] != rra.Float(3) || b[7] != rra.Unknown || a[8] != b[8] {
		t.Errorf("samples %v, then %v", a, b)
	}
}
