package rrdcached_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/wal"
)

// tunes are the words behind the name of a TUNE, in the order that they are asked.
var tunes = []string{
	"-h x:60", "--heartbeat y:90", "-i x:-5", "--minimum x:U", "-a y:1e9", "--maximum x:100", "-d x:ABSOLUTE", "-d x:GAUGE", "--data-source-type y:DERIVE",
	"-r x:renamed", "--data-source-rename renamed:x", "-h x:70 -i x:0 -a x:50", "-h nosuch:1", "-h x", "-h x:", "-i x:abc", "-d x:FOO", "-r nosuch:z", "-q",
	"-x 0.2", "--alpha 0.3", "-y 0.01", "--beta 0.02", "-z 0.3", "--gamma 0.4", "-v 0.5", "--gamma-deviation 0.6", "-p 3", "--deltapos 2.5", "-n 3", "--deltaneg 1.5",
	"-w 7", "--window-length 8", "-f 4", "--failure-threshold 5", "-x 2", "-w 100", "-f 0", "-s 0.07", "-S 0.08", "--smoothing-window 0.09",
	"--smoothing-window-deviation 0.1", "-b x", "--aberrant-reset y", "-b nosuch",
	"DS:z:GAUGE:20:U:U", "RRA#0:+5", "RRA#0:-2", "RRA#1:=4", "DEL:z", "RRA#9:+1", "DEL:nosuch", "DELRRA:99", "DS:x:GAUGE:20:U:U",
}

// TestTuneAsRRDTool changes a series over the socket, and a file by rrdtool: what is answered,
// shown and dumped is the same. rrdcached 1.7.2 has no such commands. What of added archives
// differs from rrdtool stands in docs/rrdtool-compat.md.
func TestTuneAsRRDTool(t *testing.T) {
	tool := rrdtooltest.Peer(t, "rrdtool")
	t.Parallel()
	s := serve(t, rrdcached.Options{Store: enginetest.OpenDir(t, t.TempDir(), core.Options{Sync: wal.SyncNone})}, 0)
	p := dial(t, s.addr)
	dir := s.base // of files; the server has none
	original := func(args ...string) (out, errOut string) {
		t.Helper()
		cmd := exec.Command(tool, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "LC_ALL=C")
		var o, e bytes.Buffer
		cmd.Stdout, cmd.Stderr = &o, &e
		_ = cmd.Run() // what it says is compared
		return o.String(), e.String()
	}
	series := []struct{ name, made, updates string }{
		{
			"a.rrd", "-s 10 -b 1000000000 DS:x:GAUGE:20:U:U DS:y:COUNTER:20:0:U RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:6:10",
			"1000000010:1:10 1000000020:2:30 1000000030:3:60 1000000041:4:100 1000000050:5:150 1000000060:U:210 1000000070:7:280 1000000083:8:360",
		},
		{
			"h.rrd", "-s 10 -b 1000000000 DS:x:GAUGE:20:U:U DS:y:GAUGE:20:U:U RRA:AVERAGE:0.5:1:20 RRA:HWPREDICT:40:0.1:0.0035:10:3 RRA:SEASONAL:10:0.1:2 " +
				"RRA:DEVPREDICT:40:5 RRA:DEVSEASONAL:10:0.1:2 RRA:FAILURES:40:7:9:5",
			"", // its rings begin anywhere, which would show
		},
	}
	tuned := 0
	for _, a := range series {
		file := filepath.Join(dir, a.name)
		if _, errOut := original(append([]string{"create", file}, strings.Fields(a.made)...)...); errOut != "" {
			t.Fatal(errOut)
		}
		if got := p.ask("CREATE " + a.name + " " + a.made); got != "0 RRD created OK\n" {
			t.Fatal(got)
		}
		if a.updates != "" {
			original(append([]string{"update", file}, strings.Fields(a.updates)...)...)
			if got := p.ask("UPDATE " + a.name + " " + a.updates); !strings.HasPrefix(got, "0 errors") {
				t.Fatal(got)
			}
		}
		for _, words := range tunes {
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, errOut := original(append([]string{"tune", file}, strings.Fields(words)...)...)
			if errOut != "" { // it may have changed half of it
				if err := os.WriteFile(file, before, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := p.ask("TUNE " + a.name + " " + words)
			if strings.HasPrefix(got, "0 ") != (errOut == "") {
				t.Errorf("TUNE %s %s: %q, rrdtool says %q", a.name, words, got, errOut)
				continue
			}
			if errOut != "" {
				if want := "-1 RRD Error: " + strings.TrimPrefix(errOut, "ERROR: "); got != want {
					t.Errorf("TUNE %s %s: %q, want %q", a.name, words, got, want)
				}
				continue
			}
			tuned++
			info, _ := original("info", file)
			if got, want := infoOf(p, a.name), rowNumber.ReplaceAllString(info, "cur_row"); got != want {
				t.Errorf("INFO after TUNE %s %s:\n%s", a.name, words, cmp.Diff(want, got))
			}
			if tuned%6 != 0 { // all of it, now and then
				continue
			}
			want, _ := original("dump", file)
			if got := dumped(t, s, a.name); got != want {
				t.Errorf("DUMP after TUNE %s %s:\n%s", a.name, words, cmp.Diff(want, got))
			}
		}
	}
	for _, header := range []string{"none", "xsd", "dtd"} {
		want, _ := original("dump", "-h", header, "a.rrd")
		if got := dumped(t, s, "a.rrd -h "+header); got != want {
			t.Errorf("DUMP -h %s:\n%s", header, cmp.Diff(want, got))
		}
	}
	if tuned < 40 {
		t.Errorf("only %d were tuned", tuned)
	}
	t.Logf("peer: rrdtool, %d changes compared", tuned)
}

// infoOf returns the answer to INFO as rrdtool prints it.
func infoOf(p *peer, name string) string {
	p.t.Helper()
	var b strings.Builder
	_, lines, _ := strings.Cut(p.ask("INFO "+name), "\n")
	for line := range strings.Lines(lines) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if f[1] == "2" {
			f[2] = `"` + f[2] + `"`
		}
		b.WriteString(f[0] + " = " + f[2] + "\n")
	}
	return rowNumber.ReplaceAllString(b.String(), "cur_row")
}

// dumped returns the answer to DUMP, after which the server disconnects.
func dumped(t *testing.T, s *served, words string) string {
	t.Helper()
	p := dial(t, s.addr)
	p.send("DUMP " + words + "\n")
	all, err := io.ReadAll(p.r)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}
