package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// madeLike is the definition of the series that commands work on.
const madeLike = " -s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:2:5"

// TestRestoreOfLongDumps: through HTTP a dump of 7.9 MiB was "the request is too long".
func TestRestoreOfLongDumps(t *testing.T) {
	t.Parallel()
	d := rondotest.Serve(t, filepath.Join(t.TempDir(), "db"), "--memory", "128M")
	do := func(at string, stdin io.Reader, args ...string) (string, error) {
		cmd := exec.Command("rondo", args...)
		cmd.Env = append(os.Environ(), "RONDO_DAEMON="+at, "RONDO_DB=", "RONDO_CONFIG=", "TZ=UTC")
		cmd.Stdin = stdin
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(at string, stdin io.Reader, args ...string) string {
		t.Helper()
		out, err := do(at, stdin, args...)
		if err != nil {
			t.Fatalf("rondo %s by %s: %v: %s", args, at, err, out)
		}
		return out
	}
	must(d.URL, nil, strings.Fields("create a"+madeLike)...)
	must(d.URL, nil, "update", "a", "1000000010:7")
	dump := must(d.URL, nil, "dump", "a")
	front, rest, _ := strings.Cut(dump, "<ds>")
	long := func(mib int) io.Reader {
		return io.MultiReader(strings.NewReader(front), bytes.NewReader(bytes.Repeat([]byte(" "), mib<<20)), strings.NewReader("<ds>"+rest))
	}
	file := filepath.Join(t.TempDir(), "a.xml")
	text, err := io.ReadAll(long(9))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{d.URL, "unix:" + filepath.Join(d.DB, "rondo.sock")} {
		must(at, nil, "restore", "-f", file, "b")
		must(at, long(9), "restore", "-f", "-", "c")
		for _, name := range []string{"b", "c"} {
			if got := must(at, nil, "dump", name); got != dump {
				t.Errorf("%s by %s is restored as %s", name, at, got)
			}
		}
		out, err := do(at, nil, "restore", file, "b")
		if err == nil || out != "ERROR: creating 'b': File exists\n" {
			t.Errorf("again by %s: %v: %s", at, err, out)
		}
	}
	if out, err := do(d.URL, long(17), "restore", "-", "d"); err == nil || !strings.Contains(out, "More --memory lets the server take longer files; rondo import") {
		t.Errorf("more than there is room for: %v: %s", err, out)
	}
}
