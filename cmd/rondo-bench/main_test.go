package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary rondo-bench when it is called by that name.
func TestMain(m *testing.M) {
	testscript.Main(withRondo{m}, map[string]func(){"rondo-bench": main})
}

// withRondo runs the tests with a rondo in the PATH that is built for them.
type withRondo struct{ m *testing.M }

func (w withRondo) Run() int {
	dir, err := os.MkdirTemp("", "rondo-bench-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is a temporary folder
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "rondo"), "../rondo")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ../rondo: %v\n%s", err, out)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return w.m.Run()
}

// TestScripts runs testdata/script/*.txtar. Lines with [exec:rrdtool] need the original.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			e.Setenv("LC_ALL", "C")
			e.Setenv("GORACE", os.Getenv("GORACE"))
			return nil
		},
	})
}
