package graphite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// run runs a program and returns what it writes.
func run(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, wrong bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = &out, &wrong
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, wrong.String())
	}
	return out.Bytes()
}

// TestPicklesOfPeer: what a Python sends as carbon's clients do, by each of its protocols, is stored
// as it was meant.
func TestPicklesOfPeer(t *testing.T) {
	python := rrdtooltest.Peer(t, "python3")
	t.Logf("peer: %s", run(t, python, "--version"))
	r := receivertest.Start(t, receivertest.Case{Protocol: Pickle}, new(receivertest.Recorder), nil)
	host, port, err := net.SplitHostPort(r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var want []receivertest.Sample
	d := json.NewDecoder(bytes.NewReader(run(t, python, "-B", "testdata/pickles.py", host, port, "peer")))
	for d.More() {
		var p [3]any
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseFloat(p[2].(string), 64)
		if err != nil {
			t.Fatal(err)
		}
		path := prefix + "/" + strings.ReplaceAll(p[0].(string), ".", "/")
		want = append(want, receivertest.Sample{Path: path, At: rra.Seconds(int64(p[1].(float64))), Values: []rra.Value{rra.Float(v)}})
	}
	if len(want) < 5000 {
		t.Fatalf("%d points were sent", len(want))
	}
	if diff := cmp.Diff(want, r.UntilSamples(len(want))); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
	if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v: something was dropped", st)
	}
}

const collectdConf = `
Hostname "peer.example.org"
FQDNLookup false
BaseDir "%[1]s"
PIDFile "%[1]s/pid"
Interval 1
LoadPlugin logfile
<Plugin logfile>
	File "%[1]s/log"
</Plugin>
LoadPlugin load
LoadPlugin memory
LoadPlugin uptime
LoadPlugin df
LoadPlugin write_graphite
<Plugin write_graphite>
	<Node "tcp">
		Host "127.0.0.1"
		Port "%[2]s"
		Protocol "tcp"
		Prefix "tcp."
	</Node>
	<Node "udp">
		Host "127.0.0.1"
		Port "%[2]s"
		Protocol "udp"
		Prefix "udp."
	</Node>
	<Node "tags">
		Host "127.0.0.1"
		Port "%[2]s"
		Protocol "tcp"
		Prefix "tags."
		UseTags true
	</Node>
</Plugin>
`

// startCollectd runs a collectd that writes to a port until stop is called.
func startCollectd(t *testing.T, port string) (stop func()) {
	t.Helper()
	dir := t.TempDir()
	bin := rrdtooltest.Peer(t, "collectd", "/usr/sbin/collectd")
	conf := write(t, dir, "collectd.conf", fmt.Sprintf(collectdConf, dir, port))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, bin, "-f", "-C", conf)
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer cancel()
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait returns the error
		if err := cmd.Wait(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log")) // for the message only
			t.Errorf("collectd: %v\n%s", err, log)
		}
	}
}

// TestCollectdWritesGraphite: the same values of a collectd arrive over TCP, over UDP and with tags.
func TestCollectdWritesGraphite(t *testing.T) {
	rrdtooltest.Peer(t, "collectd", "/usr/sbin/collectd")
	p := Protocol
	p.Network = "tcp"
	r := receivertest.Start(t, receivertest.Case{Protocol: p}, new(receivertest.Recorder), func(c *receivers.Config) { c.Now = time.Now })
	_, port, err := net.SplitHostPort(r.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	stop := startCollectd(t, port)
	loads := func(s receivertest.State, way string) (n int) {
		for _, x := range s.Samples {
			if strings.HasPrefix(x.Path, prefix+"/"+way) && strings.Contains(x.Path, "load") {
				n++
			}
		}
		return n
	}
	r.Until("values by all ways", func(s receivertest.State) bool {
		return loads(s, "tcp/") > 5 && loads(s, "udp/") > 5 && loads(s, "tags") > 5
	})
	stop()
	r.Stop()
	type key struct {
		path string
		at   rra.Time
	}
	// Where the machine is busy, collectd reads twice in one second.
	byTCP := make(map[key][]float64)
	same := 0
	for _, x := range r.Recorder.Samples() {
		if path, ok := strings.CutPrefix(x.Path, prefix+"/tcp/"); ok {
			k := key{path, x.At}
			byTCP[k] = append(byTCP[k], math.Float64frombits(x.Values[0].Bits))
		}
	}
	for _, x := range r.Recorder.Samples() {
		path, ok := strings.CutPrefix(x.Path, prefix+"/udp/")
		vs, both := byTCP[key{path, x.At}]
		if !ok || !both {
			continue
		}
		if same++; !slices.Contains(vs, math.Float64frombits(x.Values[0].Bits)) {
			t.Errorf("%s at %v: %v by TCP, %v by UDP", path, x.At.Std(), vs, x.Values)
		}
	}
	tagged := ""
	for _, s := range r.Recorder.Series() {
		if strings.HasPrefix(s.Path, prefix+"/tags") && strings.Contains(s.Path, "load") {
			tagged = fmt.Sprintf("%s %v", s.Path, s.Labels)
		}
	}
	if same < 20 || !strings.Contains(tagged, ";host=peer.example.org") {
		t.Errorf("%d values by both ways; a series with tags is %s", same, tagged)
	}
	if st := r.Stats(); st.Dropped[receivers.Malformed]+st.Dropped[receivers.Limit]+st.Dropped[receivers.Unsupported] > 0 {
		t.Errorf("stats %+v: a line was not understood", st)
	}
	t.Logf("%d values by both ways; %s", same, tagged)
}

// whisperScript prints what whisper makes of retentions, one a line.
const whisperScript = `
import sys, whisper
for line in sys.stdin.read().split("\n"):
    try:
        archives = sorted(whisper.parseRetentionDef(part) for part in line.split(","))
        whisper.validateArchiveList(archives)
        print(" ".join("%d:%d" % a for a in archives))
    except Exception:
        print("wrong")
`

// TestRetentionsOfWhisper: retentions are read as carbon's own library reads them, except that rows
// of 0 seconds and archives of 0 rows are refused.
func TestRetentionsOfWhisper(t *testing.T) {
	python := rrdtooltest.Peer(t, "/usr/bin/python3")
	if err := exec.Command(python, "-c", "import whisper").Run(); err != nil {
		rrdtooltest.Lacks(t, "python3 has no module whisper: ", err)
	}
	texts := []string{
		"10s:6h,1min:7d,10m:5y", "60:1440", "1m:1440", "60:1d", " 15m:8 , 1h:7d", "12h:2y", "1seconds:1minutes", "1sec:1mi", "1h:1w,1d:1y",
		"10s:6h,15s:7d", "1m:7d,1m:8d", "1m:7d,10m:7d", "10m:5y,10s:6h", "1m", "1m:", ":1d", "1x:1d", "1M:1d", "1mo:1d", "-1m:1d", "1.5m:1d", "1m:1d:2",
		"s:10", "1mins:7d", "1years:10years",
	}
	cmd := exec.Command(python, "-c", whisperScript)
	cmd.Stdin = strings.NewReader(strings.Join(texts, "\n"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i, text := range texts {
		got := "wrong"
		if rs, err := ParseRetentions(text); err == nil {
			var parts []string
			for _, r := range rs {
				parts = append(parts, fmt.Sprintf("%d:%d", r.Row, r.Rows))
			}
			got = strings.Join(parts, " ")
		}
		if got != want[i] {
			t.Errorf("%q is %s, whisper says %s", text, got, want[i])
		}
	}
}
