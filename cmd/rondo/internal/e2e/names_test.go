package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/engine/core"
)

// complain runs a command that must fail, in dir, and returns what it says.
func complain(t *testing.T, dir, db string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), rondotest.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "rondo", args...)
	cmd.Env = append(os.Environ(), "RONDO_DB="+db)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("rondo %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestNameThatIsNoUTF8: whether a server runs or not, a name that cannot be is refused with a
// sentence that says why and can be printed.
func TestNameThatIsNoUTF8(t *testing.T) {
	dir := t.TempDir()
	for _, served := range []bool{false, true} {
		db := filepath.Join(dir, map[bool]string{false: "alone", true: "served"}[served])
		if served {
			rondotest.Serve(t, db)
		}
		rondotest.Run(t, db, "create", "good.rrd", "--start", "1000000000", "DS:x:GAUGE:600:U:U", "RRA:LAST:0.5:1:5")
		for name, want := range map[string]string{"a\xffb": "no UTF-8", "a\nb\x1b": "control character"} {
			got := complain(t, dir, db, "create", name, "DS:x:GAUGE:600:U:U", "RRA:LAST:0.5:1:5")
			if !strings.HasPrefix(got, "ERROR: ") || !strings.Contains(got, want) || strings.Contains(got, "marshal") || strings.Contains(got, "\x1b") || !utf8.ValidString(got) || strings.Count(got, "\n") != 1 {
				t.Errorf("served=%v: create %q says %q", served, name, got)
			}
			complain(t, dir, db, "last", name) // no panic, and it ends
		}
		for name := range strings.Lines(rondotest.Run(t, db, "list")) { // a server has series of its own at every full ten seconds
			if name != "good.rrd\n" && !strings.HasPrefix(name, "rondo/") {
				t.Errorf("served=%v: list prints %q", served, name)
			}
		}
	}
}

// TestImportOfBadNames: a folder with names that no series can have is imported but for these,
// through a server as without one.
func TestImportOfBadNames(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	rondotest.Run(t, source, "create", "a.rrd", "--start", "1000000000", "DS:x:GAUGE:600:U:U", "RRA:LAST:0.5:1:5")
	files := filepath.Join(dir, "files")
	rondotest.Run(t, source, "export", "--to", files)
	data, err := os.ReadFile(filepath.Join(files, "a.rrd"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b\xff.rrd", "c\n.rrd", "d.rrd"} {
		if err := os.WriteFile(filepath.Join(files, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, served := range []bool{false, true} {
		db := filepath.Join(dir, map[bool]string{false: "alone", true: "served"}[served])
		if served {
			rondotest.Serve(t, db)
		}
		got := complain(t, dir, db, "import", files)
		for _, want := range []string{"2 of 4 files imported, 0 skipped, 2 failed\n", `/b\xff.rrd: its name is no UTF-8`, `/c\n.rrd: its name holds a control character`} {
			if !strings.Contains(got, want) {
				t.Errorf("served=%v: import says\n%s, want %s", served, got, want)
			}
		}
		// The server's own series, which it makes every ten seconds of the clock, sort behind.
		got, _, _ = strings.Cut(rondotest.Run(t, db, "list"), "rondo/")
		if got != "a.rrd\nd.rrd\n" {
			t.Errorf("served=%v: list prints %q", served, got)
		}
	}
}

// TestTableEscapes: texts of other people do not command the terminal of who reads them as a table.
func TestTableEscapes(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	s, err := core.Open(db, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddNote(t.Context(), "web1", core.Note{Severity: "OKAY", Text: "two\nlines \x1b[2J"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := rondotest.Run(t, db, "notes"); !strings.Contains(got, `two\nlines \x1b[2J`) || strings.Contains(got, "\x1b") {
		t.Errorf("notes prints %q", got)
	}
}
