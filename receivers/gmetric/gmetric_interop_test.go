package gmetric

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// sorted returns the groups in a text in order: gmond shows them in another order than it received
// them.
func sorted(groups string) string {
	s := strings.Split(groups, ",")
	slices.Sort(s)
	return strings.Join(s, ",")
}

// compare compares the metadata that we keep of a metric with what gmond shows.
func compare(t *testing.T, path string, md core.Metadata, want gangliaMetric) {
	t.Helper()
	shown := map[string]string{"type": want.Type, "units": want.Units, "tmax": want.TMax, "dmax": want.DMax, "slope": want.Slope}
	for _, x := range want.Extra {
		switch x.Name {
		case "GROUP":
			shown["group"] = strings.Trim(shown["group"]+","+x.Value, ",")
		case "TITLE":
			shown["title"] = x.Value
		case "DESC":
			shown["description"] = x.Value
		case "CLUSTER":
			shown["cluster"] = x.Value
		case "SPOOF_HOST":
		default:
			shown[attrExtra+x.Name] = x.Value
		}
	}
	got := make(map[string]string)
	for name := range shown {
		got[name] = attribute(md, name)
	}
	got["group"], shown["group"] = sorted(got["group"]), sorted(shown["group"])
	if diff := cmp.Diff(shown, got); diff != "" {
		t.Errorf("%s (-gmond +rondo):\n%s", path, diff)
	}
	if fmt.Sprint(md.Expire) != want.DMax {
		t.Errorf("%s: expires after %d s, gmond: %s", path, md.Expire, want.DMax)
	}
}

// live starts a receiver with the system's clock.
func live(t *testing.T) *receivertest.Running {
	t.Helper()
	c := receivertest.Case{Protocol: Protocol}
	return receivertest.Start(t, c, new(receivertest.Recorder), func(c *receivers.Config) { c.Now = time.Now })
}

// TestGmetricSlow: the real gmetric command, run by cron at any pace, has known rows, whatever it
// says of how long its value lives.
func TestGmetricSlow(t *testing.T) {
	rrdtooltest.Peer(t, "gmetric")
	for _, says := range [][]string{nil, {"--tmax=300", "--dmax=600"}, {"--tmax=20", "--slope=positive"}} {
		receivertest.Slow(t, receivertest.Case{
			Protocol: Protocol,
			Message:  func(n int) []byte { return fmt.Append(nil, n) },
			Deliver: func(t testing.TB, r receivers.Receiver, value []byte) {
				_, port, _ := net.SplitHostPort(r.Addr().String())
				g := ganglia{conf: filepath.Join(t.TempDir(), "gmetric.conf")}
				if err := os.WriteFile(g.conf, []byte("udp_send_channel { host = 127.0.0.1 port = "+port+" }\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				g.gmetric(t, append(says, "--name=slow", "--type=uint32", "--value="+string(value))...)
			},
		})
	}
}

// TestGmetric receives from the real gmetric command: every type with every slope, and every other
// option. What is kept is compared with what was sent, and with what a gmond shows that was sent
// the same.
func TestGmetric(t *testing.T) {
	rrdtooltest.Peer(t, "gmetric")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	r := live(t)
	g := startGanglia(t, r.Addr())
	until(t, "gmond listens", func() bool {
		conn, err := net.Dial("tcp", g.xml)
		if err == nil {
			_ = conn.Close() // it has answered
		}
		return err == nil
	})

	type sent struct {
		kind  rra.Kind
		value rra.Value
		text  string
	}
	want := make(map[string]sent)
	values := map[string]string{
		"string": "a text", "int8": "-128", "uint8": "255", "int16": "-32768", "uint16": "65535",
		"int32": "-2147483648", "uint32": "4294967295", "float": "3.14159", "double": "-2.718281828459045e-300",
	}
	for typ, text := range values {
		for _, slope := range []string{"zero", "positive", "negative", "both", "derivative"} {
			name, whole := typ+"_"+slope, strings.Contains(typ, "int")
			var w sent
			switch {
			case typ == "string":
				w.text = text
			case slope == "positive" && whole:
				text = strings.TrimPrefix(text, "-") // a COUNTER is not negative
				w = sent{kind: rra.Counter, value: whole64(t, text)}
			case slope == "derivative" && whole:
				w = sent{kind: rra.Derive, value: whole64(t, text)}
			default:
				f, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				w = sent{kind: map[string]rra.Kind{"positive": rra.DCounter, "derivative": rra.DDerive}[slope], value: rra.Float(f)}
			}
			want[prefix+host+"/"+name] = w
			g.gmetric(t, "--name="+name, "--value="+text, "--type="+typ, "--slope="+slope, "--units=u/"+slope, "--tmax=100", "--dmax=1000")
		}
	}
	one := sent{value: rra.Float(1)}
	for _, args := range []string{
		"--name=group --group=net,all",
		"--name=titles --title=title --desc=description --cluster=cluster",
		"--name=spoofed --spoof=10.1.2.3:web01.example.org",
		"--name=spoofed6 --spoof=localhost:v6.example.org --group=g",
		"--name=defaults",
	} {
		g.gmetric(t, append(strings.Fields(args), "--value=1", "--type=int32")...)
		name := strings.TrimPrefix(strings.Fields(args)[0], "--name=")
		path := prefix + host + "/" + name
		switch name {
		case "spoofed":
			path = "ganglia/web01.example.org/spoofed"
		case "spoofed6":
			path = "ganglia/v6.example.org/spoofed6"
		}
		want[path] = one
	}
	g.gmetric(t, "--spoof=10.9.9.9:alive.example.org", "--heartbeat")

	const beat = "ganglia/alive.example.org/heartbeat"
	r.Until("all that was sent", func(s receivertest.State) bool {
		for path := range want {
			if s.Texts[path].Time == 0 {
				return false
			}
			if w := want[path]; w.text != "" && s.Texts[path].Text == "" {
				return false
			}
		}
		return s.Texts[beat].Time != 0
	})
	series := make(map[string]core.Series)
	for _, s := range r.Recorder.Series() {
		series[s.Path] = s
	}
	if _, ok := series[beat]; ok {
		t.Error("a heartbeat is a series")
	}
	last := make(map[string]rra.Value)
	for _, s := range r.Recorder.Samples() {
		last[s.Path] = s.Values[0]
	}
	var shown map[string]gangliaMetric
	until(t, "gmond shows the last of them", func() bool {
		shown = g.metrics(t, host)
		return len(shown) >= len(want)
	})
	for path, w := range want {
		md, err := r.Recorder.Metadata(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := shown[path]
		if !ok {
			t.Errorf("%s: gmond does not show it", path)
			continue
		}
		compare(t, path, md, m)
		s, ok := series[path]
		if w.text != "" {
			if md.Text != w.text || m.Value != w.text || ok {
				t.Errorf("%s: text %q, gmond %q, a series: %t; want %q", path, md.Text, m.Value, ok, w.text)
			}
			continue
		}
		if !ok {
			t.Errorf("%s: no series", path)
			continue
		}
		if got := last[path]; got != w.value || s.Definition.Sources[0].Kind != w.kind {
			t.Errorf("%s: a %v, %v; want a %v, %v", path, s.Definition.Sources[0].Kind, got, w.kind, w.value)
		}
		if f, err := strconv.ParseFloat(m.Value, 64); err != nil || rra.NumericValue(w.kind, w.value, nil) != f {
			t.Errorf("%s: gmond shows %q, want %v", path, m.Value, w.value)
		}
		if want := max(4*int64(number32(t, m.TMax)), 120); s.Definition.Sources[0].Heartbeat != want {
			t.Errorf("%s: heartbeat %d, want %d", path, s.Definition.Sources[0].Heartbeat, want)
		}
	}
	if md, _ := r.Recorder.Metadata(t.Context(), "ganglia/web01.example.org/spoofed"); attribute(md, "ip") != "10.1.2.3" {
		t.Errorf("spoofed: %+v", md)
	}
	if st := r.Stats(); st.Dropped[receivers.Malformed]+st.Dropped[receivers.Truncated]+st.Dropped[receivers.Unsupported]+st.Dropped[receivers.Limit] > 0 {
		t.Errorf("stats %+v, want nothing refused", st)
	}
}

func whole64(t *testing.T, text string) rra.Value {
	t.Helper()
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return rra.Uint(u)
	}
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return rra.Int(i)
}

func number32(t *testing.T, text string) uint32 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(n)
}

// TestGmond receives gmond's own metrics, typed, and compares them with what it shows.
func TestGmond(t *testing.T) {
	rrdtooltest.Peer(t, "gmond", "/usr/sbin/gmond")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	r := live(t)
	g := startGanglia(t, r.Addr())
	all := make(map[string]bool) // by path
	for _, metrics := range ownMetrics {
		for name, constant := range metrics {
			all[prefix+host+"/"+name] = constant
		}
	}
	texts := []string{"os_name", "os_release", "machine_type"}
	beat := prefix + host + "/" + heartbeat
	r.Until("each metric, and those that change twice", func(s receivertest.State) bool {
		n := make(map[string]int)
		for _, x := range s.Samples {
			n[x.Path]++
		}
		for path := range all {
			if n[path] < 1 && s.Texts[path].Text == "" {
				return false
			}
		}
		return n[prefix+host+"/load_one"] >= 2 && s.Texts[beat].Time != 0
	})
	shown := g.metrics(t, host)
	series := make(map[string]core.Series)
	for _, s := range r.Recorder.Series() {
		series[s.Path] = s
	}
	last := make(map[string]rra.Value)
	for _, s := range r.Recorder.Samples() {
		last[s.Path] = s.Values[0]
	}
	for path, constant := range all {
		md, err := r.Recorder.Metadata(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		m, ok := shown[path]
		if !ok {
			t.Errorf("%s: gmond does not show it", path)
			continue
		}
		compare(t, path, md, m)
		_, ok = series[path]
		if slices.Contains(texts, m.Name) {
			if md.Text != m.Value || ok {
				t.Errorf("%s: text %q, a series: %t; gmond shows %q", path, md.Text, ok, m.Value)
			}
			continue
		}
		if !ok || series[path].Definition.Sources[0].Kind != rra.Gauge {
			t.Errorf("%s: %+v, want a GAUGE", path, series[path])
			continue
		}
		if !constant {
			continue
		}
		// gmond shows what it sent as text, cut where the format says.
		shown, err := strconv.ParseFloat(m.Value, 64)
		got := rra.NumericValue(rra.Gauge, last[path], nil)
		if err != nil || got != shown && fmt.Sprintf("%.3f", got) != m.Value {
			t.Errorf("%s: %v, gmond shows %q", path, got, m.Value)
		}
	}
	if _, ok := series[beat]; ok {
		t.Error("a heartbeat is a series")
	}
	if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{receivers.Late: st.Dropped[receivers.Late]} {
		t.Errorf("stats %+v, want nothing refused", st)
	}
}
