// Package rrdtooltest finds and runs the programs that tests compare rondo with: rrdtool, rrdcached,
// collectd and others. Where one is missing the test is skipped, or fails if RONDO_REQUIRE_PEERS is 1.
//
// [Peer] finds a program, [Run] runs one until the test ends, [Start] asks rrdtool in pipe mode.
package rrdtooltest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Version is what rondo is held against.
const Version = "RRDtool 1.7.2 "

// A Tool is a running `rrdtool -` in a folder of its own. It is started again
// when a command makes it crash.
type Tool struct {
	Dir string

	tb   testing.TB
	zone string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

// Start starts rrdtool and logs its version. Without rrdtool 1.7.2 the test is
// skipped, or fails if RONDO_REQUIRE_PEERS is 1.
func Start(tb testing.TB) *Tool {
	tb.Helper()
	return StartIn(tb, "UTC")
}

// StartIn is Start in a time zone.
func StartIn(tb testing.TB, zone string) *Tool {
	tb.Helper()
	RRDtool(tb)
	t := &Tool{Dir: tb.TempDir(), tb: tb, zone: zone}
	t.start()
	tb.Cleanup(t.stop)
	return t
}

func (t *Tool) start() {
	t.cmd = exec.Command("rrdtool", "-")
	t.cmd.Dir = t.Dir
	t.cmd.Env = append(os.Environ(), "TZ="+t.zone, "LC_ALL=C")
	var err error
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		t.tb.Fatal(err)
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		t.tb.Fatal(err)
	}
	t.out = bufio.NewReader(out)
	if err := t.cmd.Start(); err != nil {
		t.tb.Fatal(err)
	}
}

func (t *Tool) stop() {
	_ = t.in.Close()
	_ = t.cmd.Wait()
}

// Do runs one command, whose words may not hold quotes, backslashes or line
// ends, and returns what it printed and its error, "" if there is none.
// The error of a command that crashes is "crash".
func (t *Tool) Do(words ...string) (out, failure string) {
	t.tb.Helper()
	quoted := make([]string, len(words))
	for i, w := range words {
		if strings.ContainsAny(w, "\"'\\\n\x00") {
			t.tb.Fatalf("rrdtool's pipe mode cannot be given %q", w)
		}
		quoted[i] = `"` + w + `"`
	}
	if _, err := fmt.Fprintln(t.in, strings.Join(quoted, " ")); err != nil {
		t.tb.Fatal(err)
	}
	var b strings.Builder
	for {
		line, err := t.out.ReadString('\n')
		if err != nil {
			t.stop()
			t.start()
			return b.String(), "crash"
		}
		if strings.HasPrefix(line, "OK u:") {
			return b.String(), ""
		}
		if rest, ok := strings.CutPrefix(line, "ERROR: "); ok {
			return b.String(), strings.TrimSuffix(rest, "\n")
		}
		b.WriteString(line)
	}
}

// Rand returns a source of random cases and logs its seed: RONDO_SEED, or a
// fresh one.
func Rand(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed, _ := strconv.ParseUint(os.Getenv("RONDO_SEED"), 10, 64)
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	tb.Logf("seed %d (repeat with RONDO_SEED=%d)", seed, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Cases returns how many random cases to try: n, or more or less as RONDO_PROGRAMS
// is more or less than 200.
func Cases(n int) int {
	if programs, err := strconv.Atoi(os.Getenv("RONDO_PROGRAMS")); err == nil {
		return n * programs / 200
	}
	return n
}
