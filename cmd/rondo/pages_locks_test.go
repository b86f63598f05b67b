package main

import (
	"path"
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
		if _, tests := testOnly[l.Folder]; tests || within(l.Folder, "cmd/rondo-bench") {
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
