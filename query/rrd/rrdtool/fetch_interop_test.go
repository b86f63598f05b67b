package rrdtool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestHeadingOutsideASCII: the heading of fetch is filled up to 20 bytes, not to 20 characters.
// Only restore makes names outside ASCII.
func TestHeadingOutsideASCII(t *testing.T) {
	o := newOriginal(t)
	ours := &rondo{store: newMemory(), now: time.Unix(1_700_000_000, 0), loc: time.UTC}
	o.env = append(o.env, "TZ=UTC")
	for i, name := range []string{"größe", "日本語の名前", "ÄÖÜäöüßéè", "plain"} {
		file := string(rune('a'+i)) + ".rrd"
		create := []string{"create", file, "--start", "1699999800", "DS:one:GAUGE:600:U:U", "DS:v:GAUGE:600:U:U", "RRA:AVERAGE:0.5:1:5"}
		if a := o.run(o.dir, create); a.Exit != 0 {
			t.Fatal(a.Stderr)
		}
		xml := strings.Replace(o.run(o.dir, []string{"dump", file}).Stdout, "> v <", "> "+name+" <", 1)
		if err := os.WriteFile(filepath.Join(o.dir, "x.xml"), []byte(xml), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"restore", "x.xml", "new" + file}, {"fetch", "new" + file, "AVERAGE", "-s", "1699999800", "-e", "1699999800"}} {
			if d := cmp.Diff(comparable(o.run(o.dir, args)), comparable(ours.in(nil, files(o.dir), args))); d != "" {
				t.Errorf("%q, data source %s (-rrdtool +rondo):\n%s", args, name, d)
			}
		}
	}
}
