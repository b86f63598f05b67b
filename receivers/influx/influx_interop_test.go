package influx_test

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// stored returns what has been stored: a line for each sample, sorted.
func stored(rec *receivertest.Recorder) (lines []string) {
	for _, s := range rec.Samples() {
		v := fmt.Sprint(int64(s.Values[0].Bits))
		if s.Values[0].Tag == rra.TagFloat {
			v = fmt.Sprint(math.Float64frombits(s.Values[0].Bits))
		}
		lines = append(lines, fmt.Sprintf("%s %d %s", s.Path, s.At.Unix()-receivertest.Epoch, v))
	}
	sort.Strings(lines)
	return lines
}

// start starts a receiver over HTTP, and returns where it is.
func start(t *testing.T) (r *receivertest.Running, host, port string) {
	t.Helper()
	r = receivertest.Start(t, httpCase(), new(receivertest.Recorder), nil)
	u, err := url.Parse(r.URL())
	if err != nil {
		t.Fatal(err)
	}
	host, port, err = net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return r, host, port
}

func compare(t *testing.T, r *receivertest.Running, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, stored(r.Recorder)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestInfluxProgram: InfluxDB's own command line makes a database, inserts a line, and imports a
// file.
func TestInfluxProgram(t *testing.T) {
	influx := rrdtooltest.Peer(t, "influx")
	r, host, port := start(t)
	file := filepath.Join(t.TempDir(), "import")
	text := "# DDL\nCREATE DATABASE d\n# DML\n# CONTEXT-DATABASE: d\ncpu,host=b value=2 1700000002\ncpu,host=b value=3i 1700000003\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-execute", "CREATE DATABASE d"},
		{"-database", "d", "-precision", "s", "-execute", "INSERT cpu,host=a value=1 1700000001"},
		{"-import", "-path", file, "-precision", "s"},
	} {
		out, err := exec.Command(influx, append([]string{"-host", host, "-port", port}, args...)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "ERR") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	compare(t, r, []string{"influx/cpu/db=d,host=a/value 1 1", "influx/cpu/db=d,host=b/value 2 2", "influx/cpu/db=d,host=b/value 3 3"})
}

// TestPythonClient: InfluxDB's client library for Python makes a database, writes points packed
// with gzip, and reports a bad line.
func TestPythonClient(t *testing.T) {
	python := rrdtooltest.Peer(t, "/usr/bin/python3")
	if err := exec.Command(python, "-c", "import influxdb").Run(); err != nil {
		rrdtooltest.Lacks(t, "python3 has no module influxdb: ", err)
	}
	r, host, port := start(t)
	out, err := exec.Command(python, "-B", "testdata/client.py", host, port).CombinedOutput()
	if want := `400 {"error":"partial write: unable to parse 'bad': missing fields dropped=0"}`; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v, %s, want %s", err, out, want)
	}
	const path = `influx/two words/db=py,ro om=a\,t\=tic/`
	compare(t, r, []string{
		"influx/good/db=py/value 1 1", path + "ok 1 1", path + "ok 11 0", path + "value 1 31.5", path + "value 11 -2",
	})
}

// TestCurl: a file of lines is sent with curl, as the page says, and packed.
func TestCurl(t *testing.T) {
	curl := rrdtooltest.Peer(t, "curl")
	r, host, port := start(t)
	file := filepath.Join(t.TempDir(), "lines.gz")
	if err := os.WriteFile(file, receivertest.Gzip(t, []byte("room,name=attic value=31.5 1700000001\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	at := "http://" + net.JoinHostPort(host, port)
	for _, args := range [][]string{
		{at + "/write?db=house&precision=s", "--data-binary", "room,name=cellar value=12 1700000001"},
		{at + "/api/v2/write?bucket=house&precision=s", "-H", "Content-Encoding: gzip", "--data-binary", "@" + file},
	} {
		out, err := exec.Command(curl, append([]string{"-sS", "--max-time", "20", "-w", "%{http_code}"}, args...)...).CombinedOutput()
		if err != nil || string(out) != "204" {
			t.Errorf("%q: %v %s, want 204", args, err, out)
		}
	}
	compare(t, r, []string{"influx/room/db=house,name=attic/value 1 31.5", "influx/room/db=house,name=cellar/value 1 12"})
}
