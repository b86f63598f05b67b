package protocols

import (
	"context"
	"os/exec"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

func TestMain(m *testing.M) { rondotest.Main(m, nil) }

// runProgram runs the program and returns what it prints, and whether it exits with 0.
func runProgram(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rondotest.Patience)
	defer cancel()
	b, err := exec.CommandContext(ctx, "rondo", args...).CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited || ctx.Err() != nil {
		t.Fatalf("rondo %q: %v\n%s", args, err, b)
	}
	return string(b), err == nil
}
