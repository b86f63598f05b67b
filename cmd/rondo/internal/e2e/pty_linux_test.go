package e2e

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/vt"
	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// A ptyProgram is rondo on a terminal of its own.
type ptyProgram struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	screen vt.MockTerm
	before unix.Termios
	ended  chan error
	fed    chan struct{} // closed when all output has reached the screen
}

// onTerminal starts rondo on a terminal of the given size, whose screen an emulator keeps.
func onTerminal(t *testing.T, width, height int, env []string, args ...string) *ptyProgram {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &ptyProgram{t: t, master: master, ended: make(chan error, 1), fed: make(chan struct{})}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p.screen = vt.NewMockTerm(vt.MockOptSize{X: vt.Col(width), Y: vt.Row(height)})
	if err := p.screen.Start(); err != nil {
		t.Fatal(err)
	}
	p.setSize(width, height)
	if before, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS); err == nil {
		p.before = *before
	}
	p.cmd = exec.Command("rondo", args...)
	p.cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TZ=UTC", "NO_COLOR=", "COLORTERM="), env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = slave.Close()
		_ = master.Close()
		_ = p.screen.Close()
	})
	go func() { p.ended <- p.cmd.Wait() }()
	go func() {
		defer close(p.fed)
		_, _ = io.Copy(p.screen, master)
	}()
	go func() { _, _ = io.Copy(master, p.screen) }() // what the terminal answers
	return p
}

func (p *ptyProgram) setSize(width, height int) {
	p.t.Helper()
	err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(height), Col: uint16(width)})
	if err != nil {
		p.t.Fatal(err)
	}
	p.screen.SetSize(vt.Coord{X: vt.Col(width), Y: vt.Row(height)})
}

// text returns the screen, line by line.
func (p *ptyProgram) text() string {
	size, _ := p.screen.WindowSize()
	var b strings.Builder
	for y := range size.Height {
		var line strings.Builder
		for x := range size.Width {
			c := p.screen.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
			if c.C == "" {
				line.WriteByte(' ')
			} else {
				line.WriteString(c.C)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// shows waits until the screen fits.
func (p *ptyProgram) shows(what string, fits func(screen string) bool) string {
	p.t.Helper()
	deadline := time.Now().Add(rondotest.Patience)
	for {
		text := p.text()
		if fits(text) {
			return text
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("the screen does not show %s:\n%s", what, text)
		}
		time.Sleep(5 * time.Millisecond) // between two looks at the screen
	}
}

// has waits until the screen has a text.
func (p *ptyProgram) has(text string) string {
	p.t.Helper()
	return p.shows(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// press types keys.
func (p *ptyProgram) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the end of the program, and returns its exit code. The terminal must be as it was.
func (p *ptyProgram) end() int {
	p.t.Helper()
	select {
	case err := <-p.ended:
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			p.t.Fatal(err)
		}
	case <-time.After(rondotest.Patience):
		p.t.Fatalf("the program did not end:\n%s", p.text())
	}
	after, err := unix.IoctlGetTermios(int(p.master.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	if *after != p.before {
		p.t.Errorf("the terminal was left as %+v; before it was %+v", *after, p.before)
	}
	backend := p.screen.Backend()
	p.shows("what was there before", func(string) bool {
		return backend.GetPrivateMode(vt.PmShowCursor) == vt.ModeOn && backend.GetPrivateMode(vt.PmAltScreen) != vt.ModeOn
	})
	return p.cmd.ProcessState.ExitCode()
}
