package main

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestBenchIngest measures both stores with few series.
func TestBenchIngest(t *testing.T) {
	t.Parallel()
	tsdb, err := exec.LookPath("promtsdb")
	if err != nil {
		if !rrdtooltest.Required() { // then it is built
			rrdtooltest.Lacks(t, "promtsdb is not built")
		}
		tsdb = filepath.Join(t.TempDir(), "promtsdb")
		if out, err := exec.Command("go", "build", "-o", tsdb, "./promtsdb").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	out, err := exec.Command("rondo-bench", "ingest", "--series", "300", "--minutes", "5", "--times", "1", "--promtsdb", tsdb).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"samples a second", "CPU seconds a million", "peak memory, MB", "recovery after kill -9, s"} {
		if !regexp.MustCompile(`(?m)^` + name + ` +[0-9.]*[1-9][0-9.]* +[0-9.]*[1-9][0-9.]* +[0-9.e+]+$`).Match(out) {
			t.Errorf("no figures of %s in\n%s", name, out)
		}
	}
}
