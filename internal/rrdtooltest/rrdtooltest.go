// Package rrdtooltest finds and runs the programs that tests compare rondo with: rrdtool,
// rrdcached, collectd and others. If a program is missing the test is skipped, or fails if
// RONDO_REQUIRE_PEERS is 1.
//
// [Peer] finds a program. [Run] runs one until the test ends. [Start] runs rrdtool in pipe mode,
// [RRDCached] an rrdcached, [RunPrometheus] a Prometheus.
package rrdtooltest

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/ramtemp"
)

var _ = ramtemp.Use() // before any test has a temporary folder

// A Tool is a running `rrdtool -` in a folder of its own. When a command makes rrdtool crash, the
// Tool starts it again.
type Tool struct {
	Dir string

	tb   testing.TB
	path string
	zone string
	pipe *Pipe
}

// Start starts rrdtool and logs its version. If rrdtool 1.7.2 is not installed the test is skipped,
// or fails if RONDO_REQUIRE_PEERS is 1.
func Start(tb testing.TB) *Tool {
	tb.Helper()
	return StartIn(tb, "UTC")
}

// StartIn is Start in a time zone.
func StartIn(tb testing.TB, zone string) *Tool {
	tb.Helper()
	t := &Tool{Dir: tb.TempDir(), tb: tb, path: RRDtool(tb), zone: zone}
	t.start()
	return t
}

func (t *Tool) start() {
	t.pipe = StartPipe(t.tb, t.path, t.Dir, append(os.Environ(), "TZ="+t.zone, "LC_ALL=C"))
}

// Do runs one command, whose words may not hold quotes, backslashes or line ends. It returns what
// the command printed, and the text of its error: "" if it succeeded, "crash" if rrdtool crashed.
func (t *Tool) Do(words ...string) (out, failure string) {
	t.tb.Helper()
	quoted := make([]string, len(words))
	for i, w := range words {
		if strings.ContainsAny(w, "\"'\\\n\x00") {
			t.tb.Fatalf("rrdtool's pipe mode cannot be given %q", w)
		}
		quoted[i] = `"` + w + `"`
	}
	out, err := t.pipe.Try(strings.Join(quoted, " "))
	if err == nil {
		return out, ""
	}
	if errors.Is(err, ErrCrashed) {
		t.pipe.end()
		t.start()
	}
	return out, err.Error()
}
