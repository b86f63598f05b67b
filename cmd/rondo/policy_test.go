package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPolicyPage runs the commands of the page's section on rules with the file that stands there.
// Table cells are compared without the spaces between them.
func TestPolicyPage(t *testing.T) {
	const page = root + "/docs/serve.md"
	fences := readFences(t, page)
	dir := t.TempDir()
	file := ofLang(t, fences, "yaml")[1] // behind the one of settings
	if err := os.WriteFile(filepath.Join(dir, "rondo.yaml"), []byte(file.text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range ofLang(t, fences, "console") {
		for _, step := range strings.Split("\n"+f.text, "\n$ ")[1:] {
			line, want, _ := strings.Cut(step, "\n")
			got := runLine(t, dir, line)
			if !resembles(even(got), even(want), false) {
				t.Errorf("docs/serve.md:%d: %s\nprints\n%swant\n%s", f.line, line, got, want)
			}
		}
	}
}

// even makes every run of spaces one.
func even(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}
