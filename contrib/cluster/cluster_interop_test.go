package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rondo-db/rondo/internal/localcluster"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestShow runs the program as its page says, with short pauses and an end: what it reports comes in
// order, and nothing is left of it.
func TestShow(t *testing.T) {
	if _, err := localcluster.FindNATS(); err != nil {
		rrdtooltest.Lacks(t, err)
	}
	program := filepath.Join(t.TempDir(), "cluster")
	if out, err := exec.Command("go", "run", "-exec", "cp", ".", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	tmp := t.TempDir()
	cmd := exec.Command(program, "-for", "0s", "-pause", "50ms")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	rest := out
	for _, want := range []string{
		`Building rondo\.\n`, `The cluster is up\. It has 4 partitions`, `Made 6 series`, `\d+ updates are stored`, `Killing node b .* It leads [1-4] of`,
		`All partitions have leaders again, .* after the kill\. a leads \d, c leads \d\.`, `Every series takes updates`, `the same text through each of these 2 nodes`,
		`Node b has read what it had missed`, `the same text through each of these 3 nodes`, `node a +http://127\.0\.0\.1:\d+/`, `server n3 +http://127`, `All processes have ended`,
	} {
		at := regexp.MustCompile(want).FindIndex(rest)
		if at == nil {
			t.Fatalf("%q is not told, or not in its place:\n%s", want, out)
		}
		rest = rest[at[1]:]
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v is left", err, left)
	}
}
