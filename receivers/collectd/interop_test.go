package collectd

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// collectdConf sends everything to each of Servers, and writes it with the csv and rrdtool plugins.
var collectdConf = template.Must(template.New("conf").Parse(`
Hostname "peer.example.org"
FQDNLookup false
BaseDir "{{.Dir}}"
PIDFile "{{.Dir}}/pid"
Interval 1
LoadPlugin logfile
<Plugin logfile>
	LogLevel info
	File "{{.Dir}}/log"
</Plugin>
LoadPlugin cpu
LoadPlugin load
LoadPlugin memory
LoadPlugin interface
LoadPlugin df
LoadPlugin uptime
LoadPlugin csv
<Plugin csv>
	DataDir "{{.Dir}}/csv"
	StoreRates false
</Plugin>
LoadPlugin rrdtool
<Plugin rrdtool>
	DataDir "{{.Dir}}/rrd"
	CacheTimeout 0
</Plugin>
LoadPlugin network
<Plugin network>
{{range .Servers}}
	<Server "127.0.0.1" "{{.Port}}">
		{{if .Level}}SecurityLevel "{{.Level}}"
		Username "{{.User}}"
		Password "{{.Password}}"{{end}}
	</Server>
{{end}}
</Plugin>
`))

type peerServer struct{ Port, Level, User, Password string }

// startCollectd runs a collectd in dir until stop is called.
func startCollectd(t testing.TB, dir string, servers []peerServer) (stop func()) {
	t.Helper()
	bin := rrdtooltest.Peer(t, "collectd", "/usr/sbin/collectd")
	conf := filepath.Join(dir, "collectd.conf")
	f, err := os.Create(conf)
	if err != nil {
		t.Fatal(err)
	}
	if err := collectdConf.Execute(f, map[string]any{"Dir": dir, "Servers": servers}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(bin, "-h").CombinedOutput(); err == nil || len(out) > 0 {
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, "collectd 5") || strings.Contains(line, "collectd 4") {
				t.Logf("peer: %s", strings.TrimSpace(line))
			}
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	cmd := exec.CommandContext(ctx, bin, "-f", "-C", conf)
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait returns the error
		if err := cmd.Wait(); err != nil {
			log, _ := os.ReadFile(filepath.Join(dir, "log")) // for the message only
			t.Errorf("collectd: %v\n%s", err, log)
		}
		cancel()
	}
}

// A peered receiver is one that the peer sends to.
type peered struct {
	name     string
	options  map[string][]string
	server   peerServer
	received bool // else it must refuse everything
	*receivertest.Running
}

// refused checks that all was refused, and counted.
func (r *peered) refused(t *testing.T) {
	t.Helper()
	r.Stop()
	if n := len(r.Recorder.Samples()); n > 0 {
		t.Errorf("%d samples were taken", n)
	}
	if st := r.Stats(); st.Dropped[receivers.Auth] == 0 || st.Packets == 0 {
		t.Errorf("stats %+v, want drops for auth", st)
	}
}

// TestCollectd receives from a real collectd, by every way of protection, and compares with the
// files that the same collectd writes.
func TestCollectd(t *testing.T) {
	auth := filepath.Join(captures, "auth")
	rs := []*peered{
		{name: "plain", received: true},
		{
			name: "signed", received: true,
			options: map[string][]string{flagLevel.Name: {"sign"}, flagAuthFile.Name: {auth}},
			server:  peerServer{Level: "Sign", User: "alice", Password: "s1gn-Pa55"},
		},
		{
			name: "encrypted", received: true,
			options: map[string][]string{flagLevel.Name: {"encrypt"}, flagAuthFile.Name: {auth}},
			server:  peerServer{Level: "Encrypt", User: "bob", Password: "Encrypt me, 42!"},
		},
		{
			name:    "signed with a wrong password",
			options: map[string][]string{flagLevel.Name: {"sign"}, flagAuthFile.Name: {auth}},
			server:  peerServer{Level: "Sign", User: "alice", Password: "wrong"},
		},
		{
			name:    "encrypted with a wrong password",
			options: map[string][]string{flagLevel.Name: {"encrypt"}, flagAuthFile.Name: {auth}},
			server:  peerServer{Level: "Encrypt", User: "bob", Password: "wrong"},
		},
		{
			name:    "plain where a signature is asked for",
			options: map[string][]string{flagLevel.Name: {"sign"}, flagAuthFile.Name: {auth}},
		},
	}
	rrdtooltest.Peer(t, "collectd", "/usr/sbin/collectd")
	var servers []peerServer
	for _, r := range rs {
		c := receivertest.Case{Protocol: Protocol, Options: r.options}
		r.Running = receivertest.Start(t, c, new(receivertest.Recorder), func(c *receivers.Config) { c.Now = time.Now })
		_, port, err := net.SplitHostPort(r.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		r.server.Port = port
		servers = append(servers, r.server)
	}
	dir := t.TempDir()
	stop := startCollectd(t, dir, servers)
	for _, r := range rs {
		if !r.received {
			continue
		}
		// The load of two intervals: by then every plugin has read twice. The last packet is sent
		// at the stop.
		r.Until(r.name+": two readings of the load", func(s receivertest.State) bool {
			n := 0
			for _, x := range s.Samples {
				if strings.HasSuffix(x.Path, "/load/load") {
					n++
				}
			}
			return n >= 2
		})
	}
	stop()
	csv := csvFiles(t, filepath.Join(dir, "csv"))
	if len(csv) < 10 {
		t.Fatalf("collectd wrote %d files only: %q", len(csv), csv)
	}
	for _, r := range rs {
		t.Run(r.name, func(t *testing.T) {
			if !r.received {
				r.refused(t)
				return
			}
			r.Until("all of what collectd wrote", func(s receivertest.State) bool { return len(s.Series) >= len(csv) })
			var got []string
			for _, s := range r.Recorder.Series() {
				got = append(got, s.Path)
			}
			slices.Sort(got)
			if diff := cmp.Diff(csv, got); diff != "" {
				t.Errorf("series (-csv plugin +got):\n%s", diff)
			}
			if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
				t.Errorf("stats %+v, want no drop", st)
			}
		})
	}
	t.Run("definitions", func(t *testing.T) { compareFiles(t, filepath.Join(dir, "rrd"), rs[0].Recorder) })
}

// csvFiles returns the names of series that the csv plugin has written.
func csvFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		const day = "-2006-01-02"
		names = append(names, "collectd/"+name[:len(name)-len(day)])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// compareFiles compares the definitions of series with the files that collectd's rrdtool plugin has
// made of the same data.
func compareFiles(t *testing.T, dir string, rec *receivertest.Recorder) {
	bin := rrdtooltest.Peer(t, "rrdtool")
	compared := 0
	for _, s := range rec.Series() {
		file := filepath.Join(dir, strings.TrimPrefix(s.Path, "collectd/")+".rrd")
		if _, err := os.Stat(file); err != nil {
			continue // the file is made a little later than the first sample is sent
		}
		out, err := exec.Command(bin, "info", file).CombinedOutput()
		if err != nil {
			t.Fatalf("rrdtool info %s: %v\n%s", file, err, out)
		}
		info := make(map[string]string)
		for line := range strings.Lines(string(out)) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), " = ")
			info[k] = v
		}
		d := s.Definition
		want := map[string]string{"step": fmt.Sprint(d.Step)}
		for _, ds := range d.Sources {
			at := "ds[" + ds.Name + "]."
			want[at+"type"] = fmt.Sprintf("%q", ds.Kind)
			want[at+"minimal_heartbeat"] = fmt.Sprint(ds.Heartbeat)
			want[at+"min"] = number10(ds.Min)
			want[at+"max"] = number10(ds.Max)
		}
		for i, a := range d.Archives {
			at := fmt.Sprintf("rra[%d].", i)
			want[at+"cf"] = fmt.Sprintf("%q", []string{"AVERAGE", "MIN", "MAX"}[a.CF])
			want[at+"rows"] = fmt.Sprint(a.Rows)
			want[at+"pdp_per_row"] = fmt.Sprint(a.PDPs)
			want[at+"xff"] = number10(a.XFF)
		}
		got := make(map[string]string)
		for k := range want {
			got[k] = info[k]
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-collectd +rondo):\n%s", s.Path, diff)
		}
		if n := fmt.Sprintf("rra[%d].cf", len(d.Archives)); info[n] != "" {
			t.Errorf("%s: collectd's file has more archives than %d", s.Path, len(d.Archives))
		}
		compared++
	}
	t.Logf("%d files compared", compared)
	if compared < 5 {
		t.Errorf("%d files compared: too few to tell anything", compared)
	}
}

func number10(x float64) string {
	if x != x {
		return "NaN"
	}
	return fmt.Sprintf("%.10e", x)
}
