package statsd

import (
	"fmt"
	"maps"
	"math"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// ofClient is what testdata/client.py means, over either protocol: the first seven statistics of
// timers.
var ofClient = map[string]string{
	"counters/hits":     "140",
	"counters/piped":    "40",
	"gauges/queue":      "20",
	"gauges/cold":       "-4",
	"sets/users":        "12",
	"timers/page/load":  "21,2105,100.238,5,200,60.1679,100",
	"timers/piped/time": "1,1.5,1.5,1.5,1.5,0,1.5",
}

// taken reports whether the last reading that the client sends by a way has been taken.
func taken(s *server, way string) bool {
	s.metrics.mu.Lock()
	defer s.metrics.mu.Unlock()
	m := s.metrics.byPath[prefix+"/timers/"+way+"/piped/time"]
	return m != nil && m.timer.seen == 1
}

// TestPythonClient: what the client library of Debian sends is stored as it was meant.
func TestPythonClient(t *testing.T) {
	python := rrdtooltest.Peer(t, "/usr/bin/python3")
	if err := exec.Command(python, "-c", "import statsd").Run(); err != nil {
		rrdtooltest.Lacks(t, "python3 has no module statsd: ", err)
	}
	p := Protocol
	p.Network = "udp"
	// All is flushed at the end: no flush by the clock is so near.
	c := receivertest.Case{Protocol: p, Options: map[string][]string{"statsd-step": {"300d"}}}
	now := time.Unix(receivertest.Now, 0)
	r := receivertest.Start(t, c, new(receivertest.Recorder), func(c *receivers.Config) { c.Now = func() time.Time { return now } })
	host, port, err := net.SplitHostPort(r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "-B", "testdata/client.py", host, port).CombinedOutput(); err != nil {
		t.Fatalf("client: %v\n%s", err, out)
	}
	for !taken(r.Receiver.(*server), "udp") || !taken(r.Receiver.(*server), "tcp") {
		time.Sleep(time.Millisecond)
	}
	r.Stop()
	got := make(map[string]string)
	for _, x := range r.Recorder.Samples() {
		if x.At.Unix() == receivertest.Now {
			continue // the 0 before what was counted
		}
		var values []string
		for _, v := range x.Values[:min(len(x.Values), 7)] {
			values = append(values, fmt.Sprintf("%.6g", math.Float64frombits(v.Bits)))
		}
		got[strings.TrimPrefix(x.Path, prefix+"/")] = strings.Join(values, ",")
	}
	want := make(map[string]string)
	for _, path := range slices.Sorted(maps.Keys(ofClient)) {
		kind, name, _ := strings.Cut(path, "/")
		for _, way := range []string{"udp", "tcp"} {
			want[fmt.Sprintf("%s/%s/%s", kind, way, name)] = ofClient[path]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v: something was dropped", st)
	}
}
