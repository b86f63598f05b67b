package manual

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// program returns a command with what is hard to print.
func program() *cobra.Command {
	root := &cobra.Command{Use: "prog", Short: "A program", Long: "First line.\n.not a command\n'nor this\n\nA back\\slash and more:\n\n  --indented   as it stands…\n  'second\n\nThe end."}
	sub := &cobra.Command{Use: "sub NAME", Short: "Do \"it\"", Run: func(*cobra.Command, []string) {}}
	sub.Flags().StringP("out", "o", "x-y", "the `file` to write")
	sub.AddCommand(&cobra.Command{Use: "deep", Short: "Deeper", Run: func(*cobra.Command, []string) {}})
	hidden := &cobra.Command{Use: "hidden", Hidden: true, Run: func(*cobra.Command, []string) {}}
	root.AddCommand(sub, hidden)
	return root
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	b := Book{Version: "v1", Date: time.Unix(1700000000, 0), Tail: []Section{{"FILES", "  /etc/x   a file"}}}
	n, err := b.Write(dir, program())
	if err != nil || n != 3 {
		t.Fatalf("%d pages, %v", n, err)
	}
	for file, want := range map[string][]string{
		"prog.1":          {`.TH "PROG" 1 "2023\-11\-14" "rondo v1"`, "\n\\&.not a command\n", "\n\\&'nor this\n", `back\eslash`, `as it stands\[u2026]`, ".BR prog\\-sub (1)\nDo \"it\"\n", ".SH \"FILES\"\n"},
		"prog-sub.1":      {`.B "prog sub NAME [flags]"`, `\fB\-o\fR, \fB\-\-out\fR \fIfile\fR` + "\nthe file to write (default x\\-y)\n", ".SH \"SEE ALSO\"\n.BR prog (1)\n"},
		"prog-sub-deep.1": {`prog\-sub\-deep \- Deeper`},
	} {
		got, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, w := range want {
			if !bytes.Contains(got, []byte(w)) {
				t.Errorf("%s lacks %q:\n%s", file, w, got)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "prog-hidden.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}

// TestWriteFails: a folder that cannot be made, and a page that cannot be written, are errors.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	if _, err := new(Book).Write(filepath.Join(dir, "a\x00b"), program()); err == nil {
		t.Error("made a folder without a name")
	}
	if err := os.Mkdir(filepath.Join(dir, "prog-sub.1"), 0o755); err != nil {
		t.Fatal(err)
	}
	if n, err := new(Book).Write(dir, program()); err == nil || n != 1 {
		t.Errorf("%d pages, %v; the second cannot be written", n, err)
	}
}

// TestGroff lets groff read pages, with all its warnings.
func TestGroff(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		rrdtooltest.Lacks(t, "groff is not installed")
	}
	dir := t.TempDir()
	if _, err := (&Book{Version: "v1"}).Write(dir, program()); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(pages) < 2 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		groff := exec.Command("groff", "-man", "-Tutf8", "-ww", "-b", page)
		var out, errs strings.Builder
		groff.Stdout, groff.Stderr = &out, &errs
		if err := groff.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v %s", page, err, errs.String())
		}
		if filepath.Base(page) == "prog.1" && !strings.Contains(out.String(), "--indented   as it stands…") {
			t.Errorf("groff prints\n%s", out.String())
		}
	}
}
