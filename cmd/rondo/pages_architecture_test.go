package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rondo-db/rondo/internal/pages"
)

// TestLocksInArchitecture compares the mutexes of the code with those of the page.
func TestLocksInArchitecture(t *testing.T) {
	m, err := pages.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	const page = "docs/architecture.md"
	named := map[string]bool{}
	for _, p := range readPages(t) {
		if p.Name != page {
			continue
		}
		for _, s := range p.Spans {
			named[s.Text] = true
		}
	}
	for _, l := range m.Locks {
		if _, tests := testOnly[l.Folder]; tests || within(l.Folder, "bench") || within(l.Folder, "contrib") {
			continue
		}
		want := path.Base(l.Folder) + "." + l.Name
		if l.Folder == "cmd/rondo" {
			want = l.Name
		}
		if !named[want] {
			t.Errorf("%s does not name the mutex %s of %s", page, want, l.Folder)
		}
	}
	if len(m.Locks) < 30 {
		t.Errorf("only %d mutexes found", len(m.Locks))
	}
}

// TestRoomsInArchitecture looks that the page names every package.
func TestRoomsInArchitecture(t *testing.T) {
	const page = "docs/architecture.md"
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	m, err := pages.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for _, dir := range m.Packages() {
		packages++
		if word := regexp.MustCompile(`\b` + regexp.QuoteMeta(path.Base(dir)) + `\b`); !within(dir, "bench") && !word.Match(text) {
			t.Errorf("%s does not name the package %s", page, dir)
		}
	}
	if packages < 40 {
		t.Errorf("only %d packages found", packages)
	}
}
