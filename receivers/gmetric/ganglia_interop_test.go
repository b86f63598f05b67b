package gmetric

import (
	"bytes"
	"context"
	"encoding/xml"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// gmondConf has gmond, and gmetric, send to To and to gmond itself, which shows at XML what it has
// received.
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

// ownMetrics are gmond's own by their modules. They have all types that there are: values of 16 and
// 32 bits, floats, doubles and strings. Those that never change are true.
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
	gmond := rrdtooltest.Peer(t, "gmond", "/usr/sbin/gmond")
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
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait returns the error
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
func (g *ganglia) gmetric(t testing.TB, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, rrdtooltest.Peer(t, "gmetric"), append([]string{"--conf=" + g.conf}, args...)...)
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

// metrics returns what gmond has by path, as our series are called. It names a host that is not
// spoofed by its address, so host is what that is called here.
func (g *ganglia) metrics(t *testing.T, host string) map[string]gangliaMetric {
	t.Helper()
	conn, err := net.DialTimeout("tcp", g.xml, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // only read
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
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
