package main

import (
	"strings"
	"testing"
)

// TestCommandLinePage runs the console blocks of the page on the command line, in order, without a
// server, and compares what they print.
func TestCommandLinePage(t *testing.T) {
	const page = root + "/docs/cli.md"
	dir := t.TempDir()
	t.Setenv("RONDO_DB", dir+"/rondo.db")
	ran := 0
	for _, f := range ofLang(t, readFences(t, page), "console") {
		for _, step := range strings.Split("\n"+f.text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			ran++
			if got := runLine(t, dir, line); !resembles(got, want, f.loose) {
				t.Errorf("docs/cli.md:%d: %s\nprints\n%swant\n%s", f.line, line, got, want)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d commands found", ran)
	}
}
