package rrdcached_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestClientOfTheOriginal runs rondo's verbs against rrdcached: they print what they print of
// rondo's own server.
func TestClientOfTheOriginal(t *testing.T) {
	o := startOriginal(t)
	if err := os.Mkdir(filepath.Join(o.base, "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := connect(t, o.addr, o.base)
	for _, v := range clientVerbs {
		if strings.HasPrefix(v[0], "tune ") {
			v[1] = "!Unknown command: TUNE\n" // 1.7 has none
		}
		checkVerb(t, c, v)
	}
	if _, _, errOut := run(t, c, "dump", "a.rrd"); !strings.HasSuffix(errOut, "Unknown command: DUMP\n") {
		t.Errorf("dump: %q", errOut)
	}
	if code, out, errOut := run(t, c, "flushcached", "a.rrd", "b/h.rrd"); code != 0 || out != "" || errOut != "" {
		t.Errorf("flushcached: %d %q %q", code, out, errOut)
	}
	if _, out, _ := run(t, c, "xport", "-s", "1000000000", "-e", "1000000025", "DEF:a=a.rrd:x:AVERAGE", "XPORT:a"); !strings.Contains(out, "<v>2.5000000000e+00</v>") {
		t.Errorf("xport: %s", out)
	}
	// What rrdtool reads in the file is what INFO says.
	_, got, _ := run(t, c, "info", "b/h.rrd")
	want, err := exec.Command(rrdtooltest.Peer(t, "rrdtool"), "info", filepath.Join(o.base, "b/h.rrd")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.ReplaceAll(got, `"b/h.rrd"`, ""), strings.ReplaceAll(string(want), `"`+filepath.Join(o.base, "b/h.rrd")+`"`, ""); got != want {
		t.Errorf("info:\n%s", cmp.Diff(want, got))
	}
}
