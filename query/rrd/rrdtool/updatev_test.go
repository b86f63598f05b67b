package rrdtool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// TestUpdatevOfLongGaps: one command prints no more values than a fetch gives, and says so before
// it stores anything. It printed every row of every archive for each sample: 50 GB for a series
// that may be.
func TestUpdatevOfLongGaps(t *testing.T) {
	store := enginetest.Open(t)
	run := func(args string) (string, string) {
		var out, errOut strings.Builder
		rrdtool.Run(t.Context(), &rrdtool.Env{Store: store, Stdout: &out, Stderr: &errOut}, strings.Fields(args))
		return out.String(), errOut.String()
	}
	for _, c := range []struct {
		what, archives, samples string
		lines                   int // 0: too many
	}{
		{"one sample", "RRA:LAST:0:1:100000000", "1067108865:1", 0},
		{"one value too many, of two archives", "RRA:LAST:0:1:100000000 RRA:MAX:0:1:100000000", "1033554433:1", 0},
		{"several samples", "RRA:LAST:0:1:50000000", "1050000000:1 1100000000:1", 0},
		{"samples that are late and passed over", "RRA:LAST:0:1:50000000", "1000000002:1 1000000001:1 1100000000:1", 2},
		{"late ones passed over, and a gap", "RRA:LAST:0:1:70000000", "-s 1000000002:1 1000000001:1 1100000000:1", 0},
		{"few rows of a long gap", "RRA:LAST:0:1:3 RRA:MAX:0:10:2 RRA:MIN:0:60:2", "1100000000:1", 7},
		{"no gap", "RRA:LAST:0:1:100000000", "1000000001:1 1000000002:2", 2},
	} {
		if out, err := run("create s -b 1000000000 -s 1 DS:x:GAUGE:200000000:U:U " + c.archives); out+err != "" {
			t.Fatal(out, err)
		}
		out, err := run("updatev s " + c.samples)
		last, _ := run("last s")
		if c.lines == 0 {
			want := fmt.Sprintf("at most %d are possible", core.MaxFetchRows)
			if out != "return_value = -1\n" || !strings.Contains(err, want) || last != "1000000000\n" {
				t.Errorf("%s: %.200q, %q, last update %s", c.what, out, err, last)
			}
			continue
		}
		if n := strings.Count(out, "\n") - 1; n != c.lines || last == "1000000000\n" {
			t.Errorf("%s: %d lines, not %d; %q, last update %s", c.what, n, c.lines, err, last)
		}
	}
}

// TestUpdateOfTheLastSecond: a time that no series can hold is refused by its name, and not by the
// database. The last one is stored.
func TestUpdateOfTheLastSecond(t *testing.T) {
	store := enginetest.Open(t)
	run := func(args string) string {
		var out, errOut strings.Builder
		rrdtool.Run(t.Context(), &rrdtool.Env{Store: store, Stdout: &out, Stderr: &errOut}, strings.Fields(args))
		return out.String() + errOut.String()
	}
	run("create s -b 1000000000 -s 1 DS:x:GAUGE:2:U:U RRA:LAST:0:1:10")
	last := int64(core.MaxTime)/1_000_000 - 1
	if got, want := run(fmt.Sprintf("update s %d:1", last+1)), fmt.Sprintf("time %d is later than a series can hold\n", last+1); !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := run(fmt.Sprintf("update s %d:1", last)); got != "" {
		t.Errorf("the last second: %q", got)
	}
}
