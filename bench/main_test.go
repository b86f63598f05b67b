package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rondo-db/rondo/internal/localcluster"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
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
	if _, err := localcluster.BuildRondo(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return w.m.Run()
}

// TestScripts runs testdata/script/*.txtar. Lines with [exec:PROGRAM] need a peer. They are left out
// where it is missing, unless RONDO_REQUIRE_PEERS is 1: then the test fails.
func TestScripts(t *testing.T) {
	if rrdtooltest.Required() {
		rrdtooltest.Need(t, peersOf(t)...)
	}
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

var needed = regexp.MustCompile(`(?m)^\[exec:([^\]]+)\]`)

// peersOf returns the programs that lines of the scripts need.
func peersOf(t *testing.T) (peers []string) {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range needed.FindAllSubmatch(text, -1) {
			peers = append(peers, string(m[1]))
		}
	}
	slices.Sort(peers)
	return slices.Compact(peers)
}

// TestScriptsNeedTheirPeers: where Prometheus was missing, its half of promql.txtar was left out
// although every peer was required.
func TestScriptsNeedTheirPeers(t *testing.T) {
	if got, want := peersOf(t), []string{"nats-server", "prometheus", "rrdcached", "rrdtool"}; !slices.Equal(got, want) {
		t.Errorf("the scripts need %q, want %q", got, want)
	}
}
