package live_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3"
	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/live"
)

// terminal makes a terminal and returns its file and its path. Nobody reads what is written to it.
func terminal(t *testing.T) (*os.File, string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/dev/pts/%d", number)
	slave, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	go func() { _, _ = io.Copy(io.Discard, master) }()
	return slave, path
}

// A faulty program panics in one of its methods.
type faulty struct{ where string }

func (f faulty) fail(where string) {
	if f.where == where {
		panic("a fault in " + where)
	}
}

func (f faulty) Load() func(context.Context) func() {
	return func(context.Context) func() {
		f.fail("read")
		return func() { f.fail("put") }
	}
}

func (f faulty) Draw(width, height int) *chart.Grid {
	f.fail("draw")
	return chart.NewGrid(width, height)
}

func (faulty) Key(string) live.Action { return live.Stay }

// TestPanicRestoresTheTerminal: after a fault of the program the terminal shows what is typed, and
// reads lines, as before.
func TestPanicRestoresTheTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	for _, where := range []string{"read", "put", "draw"} {
		slave, path := terminal(t)
		before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		tty, err := tcell.NewDevTtyFromDev(path)
		if err != nil {
			t.Fatal(err)
		}
		said := func() (said any) {
			defer func() { said = recover() }()
			err := live.Run(t.Context(), faulty{where}, live.Options{Every: func() time.Duration { return time.Hour }, Tty: tty})
			t.Errorf("%s: the program ended: %v", where, err)
			return nil
		}()
		if said == nil {
			t.Errorf("%s: the fault is not told", where)
		}
		after, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		if *after != *before {
			t.Errorf("%s: the terminal is left as %+v, it was %+v", where, after, before)
		}
	}
}
