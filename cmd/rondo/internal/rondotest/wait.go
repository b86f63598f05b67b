package rondotest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// Patience is how long a test waits for what must happen.
const Patience = time.Minute

// Follow reads r in the background and returns what gives the text so far.
func Follow(r io.Reader) func() string {
	lines := make(chan string, 1) // holds the text whenever nobody looks at it
	lines <- ""
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			lines <- <-lines + string(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	return func() string {
		s := <-lines
		lines <- s
		return s
	}
}

func WaitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited for in vain", what)
		}
	}
}

// RunProgram runs the program and returns what it prints, and whether it exits with 0.
func RunProgram(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	b, err := exec.CommandContext(ctx, "rondo", args...).CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("rondo %q: %v\n%s", args, err, b)
	}
	return string(b), err == nil
}

func WriteConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rondo.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// NeedRRDTool skips a test where there is no rrdtool; where peers are required it fails.
func NeedRRDTool(t *testing.T) {
	t.Helper()
	rrdtooltest.Need(t, "rrdtool")
}
