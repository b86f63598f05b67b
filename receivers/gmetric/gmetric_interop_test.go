package gmetric

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// program returns the path of a real program.
func program(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("RONDO_REQUIRE_PEERS") == "1" {
		t.Fatalf("%s is not installed", names[0])
	}
	t.Skipf("%s is not installed", names[0])
	return ""
}

// gmondConf has gmond, and gmetric, send to To and to gmond itself, which shows at XML what it has received.
var gmondConf = template.Must(template.New("conf").Parse(`
globals {
	daemonize = no
	setuid = no
	mute = no
	deaf = no
	max_udp_msg_len = 1472
	host_dmax = 0
	cleanup_threshold = 300
	send_metadata_interval = 0
}
cluster { name = "test" owner = "test" }
host { location = "here" }
udp_send_channel { host = 127.0.0.1 port = {{.To}} }
udp_send_channel { host = 127.0.0.1 port = {{.Self}} }
udp_recv_channel { port = {{.Self}} bind = 127.0.0.1 }
tcp_accept_channel { port = {{.XML}} bind = 127.0.0.1 }
modules {
	module { name = "core_metrics" }
{{range $name, $path := .Modules}}	module { name = "{{$name}}" path = "{{$path}}" }
{{end}}}
collection_group {
	collect_once = yes
	time_threshold = 1
	metric { name = "heartbeat" }
}
collection_group {
	collect_every = 1
	time_threshold = 1
{{range .Metrics}}	metric { name = "{{.}}" title = "The {{.}}" }
{{end}}}
`))

// ownMetrics are gmond's own by their modules. They have all types that there are: values of 16 and 32 bits, floats,
// doubles and strings. Those that never change are true.
var ownMetrics = map[string]map[string]bool{
	"cpu_module":  {"cpu_num": true, "cpu_user": false, "cpu_idle": false},
	"disk_module": {"disk_total": true, "part_max_used": false},
	"load_module": {"load_one": false, "load_fifteen": false},
	"mem_module":  {"mem_total": true, "mem_free": false, "swap_total": true},
	"net_module":  {"bytes_in": false, "pkts_out": false},
	"proc_module": {"proc_run": false, "proc_total": false},
	"sys_module":  {"boottime": true, "os_name": true, "os_release": true, "machine_type": true},
}

// moduleFiles are the libraries of the modules.
var moduleFiles = map[string]string{
	"cpu_module": "modcpu.so", "disk_module": "moddisk.so", "load_module": "modload.so", "mem_module": "modmem.so",
	"net_module": "modnet.so", "proc_module": "modproc.so", "sys_module": "modsys.so",
}

// A ganglia is a gmond, and a configuration that gmetric can use.
type ganglia struct {
	conf string
	xml  string // address
}

// startGanglia runs a gmond that sends to the address to until the test ends.
func startGanglia(t *testing.T, to net.Addr) *ganglia {
	t.Helper()
	gmond := program(t, "gmond", "/usr/sbin/gmond")
	dir := t.TempDir()
	g := &ganglia{conf: filepath.Join(dir, "gmond.conf")}
	data := struct {
		To, Self, XML string
		Modules       map[string]string
		Metrics       []string
	}{Modules: make(map[string]string)}
	_, data.To, _ = net.SplitHostPort(to.String())
	data.Self, data.XML = freePort(t), freePort(t)
	g.xml = net.JoinHostPort("127.0.0.1", data.XML)
	for module, metrics := range ownMetrics {
		files, err := filepath.Glob("/usr/lib*/*/ganglia/" + moduleFiles[module])
		if err != nil || len(files) == 0 {
			t.Fatalf("gmond's %s is not where Debian puts it (%v)", moduleFiles[module], err)
		}
		data.Modules[module] = files[0]
		for name := range metrics {
			data.Metrics = append(data.Metrics, name)
		}
	}
	f, err := os.Create(g.conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := gmondConf.Execute(f, data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gmond, "--version").Output(); err == nil {
		t.Logf("peer: %s", bytes.TrimSpace(out))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, gmond, "--foreground", "--conf="+g.conf)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait tells
		if err := cmd.Wait(); err != nil && ctx.Err() != nil {
			t.Errorf("gmond: %v\n%s", err, log.String())
		}
		cancel()
	})
	return g
}

// freePort returns a port that is free for TCP and UDP.
func freePort(t *testing.T) string {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		u, err := net.ListenPacket("udp", l.Addr().String())
		_ = l.Close() // nobody has connected
		if err != nil {
			continue
		}
		_ = u.Close() // nothing was sent
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return port
	}
	t.Fatal("no port is free")
	return ""
}

// gmetric runs the gmetric command.
func (g *ganglia) gmetric(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(t, "gmetric"), append([]string{"--conf=" + g.conf}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gmetric %q: %v\n%s", args, err, out)
	}
}

// gangliaXML is what gmond shows.
type gangliaXML struct {
	Hosts []struct {
		Name    string          `xml:"NAME,attr"`
		IP      string          `xml:"IP,attr"`
		Metrics []gangliaMetric `xml:"METRIC"`
	} `xml:"CLUSTER>HOST"`
}

type gangliaMetric struct {
	Name  string `xml:"NAME,attr"`
	Value string `xml:"VAL,attr"`
	Type  string `xml:"TYPE,attr"`
	Units string `xml:"UNITS,attr"`
	TMax  string `xml:"TMAX,attr"`
	DMax  string `xml:"DMAX,attr"`
	Slope string `xml:"SLOPE,attr"`
	Extra []struct {
		Name  string `xml:"NAME,attr"`
		Value string `xml:"VAL,attr"`
	} `xml:"EXTRA_DATA>EXTRA_ELEMENT"`
}

// metrics returns what gmond has by path, as our series are called. It names a host that is not spoofed by its
// address, so host is what that is called here.
func (g *ganglia) metrics(t *testing.T, host string) map[string]gangliaMetric {
	t.Helper()
	conn, err := net.DialTimeout("tcp", g.xml, 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // only read
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	d := xml.NewDecoder(conn)
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // all is ASCII
	var x gangliaXML
	if err := d.Decode(&x); err != nil {
		t.Fatal(err)
	}
	ms := make(map[string]gangliaMetric)
	for _, h := range x.Hosts {
		name := h.Name
		if h.IP == "127.0.0.1" {
			name = host
		}
		for _, m := range h.Metrics {
			ms[prefix+name+"/"+m.Name] = m
		}
	}
	return ms
}

// sorted returns the groups in a text in order: gmond shows them in another order than it was told.
func sorted(groups string) string {
	s := strings.Split(groups, ",")
	slices.Sort(s)
	return strings.Join(s, ",")
}

// compare compares the metadata that we keep of a metric with what gmond shows.
func compare(t *testing.T, path string, md engine.Metadata, want gangliaMetric) {
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

// TestGmetric receives from the real gmetric command: every type with every slope, and every other option. What is kept
// is compared with what was sent, and with what a gmond shows that was sent the same.
func TestGmetric(t *testing.T) {
	program(t, "gmetric")
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
	series := make(map[string]engine.Series)
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
	program(t, "gmond", "/usr/sbin/gmond")
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
	series := make(map[string]engine.Series)
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
