package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// rondoHere runs a command on the database of a test.
func rondoHere(t *testing.T, db string, args ...string) {
	t.Helper()
	if out, err := exec.Command("rondo", append([]string{"--db", db}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("rondo %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// aSeries makes a database with one series of four known rows.
func aSeries(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "d")
	rondoHere(t, db, "create", "web1/load", "--start", "1700000000", "--step", "10", "DS:short:GAUGE:20:U:U", "DS:long:GAUGE:20:U:U", "10s for 1h average min max")
	rondoHere(t, db, "update", "web1/load", "1700000010:1:5", "1700000020:2:5", "1700000030:3:6", "1700000040:4:6")
	return db
}

// A watched plot follows the size of the terminal and new values, obeys its keys, and leaves the
// terminal as it was.
func TestPlotWatchOnATerminal(t *testing.T) {
	t.Parallel() // most of it is waiting
	db := aSeries(t)
	p := onTerminal(t, 80, 24, []string{"RONDO_DB=" + db}, "plot", "web1/load", "-s", "1700000000", "-e", "1700000100", "--watch=100ms")
	p.has("short")
	p.has("AVERAGE of 10 s")
	rondoHere(t, db, "update", "web1/load", "1700000050:77:6")
	p.shows("the new value in the legend", func(screen string) bool { return strings.Contains(screen, "77") })
	p.setSize(40, 12)
	p.shows("the footer in line 12, within 40 columns", func(screen string) bool {
		lines := strings.Split(screen, "\n")
		return len(lines) == 13 && strings.HasPrefix(lines[11], "every 100ms")
	})
	p.setSize(120, 30)
	p.has("q quit")
	p.press(" ")
	p.has("paused")
	p.press("q")
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Signals end a watched plot, and the terminal is as it was before.
func TestPlotWatchEndsBySignals(t *testing.T) {
	t.Parallel() // most of it is waiting
	db := aSeries(t)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := onTerminal(t, 80, 24, []string{"RONDO_DB=" + db}, "plot", "web1/load", "--watch")
		p.has("q quit")
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if code := p.end(); code != cli.ExitStopped {
			t.Errorf("%v: exit code %d, want %d", s, code, cli.ExitStopped)
		}
	}
	p := onTerminal(t, 80, 24, []string{"RONDO_DB=" + db}, "plot", "web1/load", "--watch")
	p.has("q quit")
	p.press("\x03")
	if code := p.end(); code != 0 {
		t.Errorf("ctrl-c: exit code %d", code)
	}
}
