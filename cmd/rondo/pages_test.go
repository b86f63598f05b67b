package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/pagetest"
)

// readPages reads every page except those that lie beside captured data.
func readPages(t *testing.T) (all []*pagetest.Page) {
	t.Helper()
	read, err := pagetest.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range read {
		if !strings.Contains(p.Name, "testdata/") {
			all = append(all, p)
		}
	}
	if len(all) < 30 {
		t.Fatalf("only %d pages found", len(all))
	}
	return all
}

// TestLinks follows the links of every page to files, folders and headings.
func TestLinks(t *testing.T) {
	links, anchors := 0, 0
	all := readPages(t)
	byName := map[string]*pagetest.Page{}
	for _, p := range all {
		byName[p.Name] = p
	}
	for _, p := range all {
		for _, l := range p.Links {
			if strings.Contains(l.Text, "://") {
				continue
			}
			to, anchor, anchored := strings.Cut(l.Text, "#")
			name := p.Name
			if to != "" {
				name = path.Join(path.Dir(p.Name), to)
			}
			links++
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("%s:%d links to %s, which is not there", p.Name, l.Line, to)
				continue
			}
			if !anchored {
				continue
			}
			anchors++
			if byName[name] == nil || !byName[name].Has(anchor) {
				t.Errorf("%s:%d links to %s, where no heading is called so", p.Name, l.Line, l.Text)
			}
		}
	}
	if links < 100 || anchors < 20 {
		t.Errorf("%d links found, %d to headings: the pattern is wrong", links, anchors)
	}
}

// TestPagesAreLinked: docs/README.md leads to every page of docs, and the page of the decisions to
// each decision.
func TestPagesAreLinked(t *testing.T) {
	linked := map[string]bool{}
	for _, p := range readPages(t) {
		if p.Name != "docs/README.md" && p.Name != "docs/decisions/README.md" {
			continue
		}
		for _, l := range p.Links {
			to, _, _ := strings.Cut(l.Text, "#")
			linked[path.Join(path.Dir(p.Name), to)] = true
		}
	}
	for _, p := range readPages(t) {
		if strings.HasPrefix(p.Name, "docs/") && p.Name != "docs/README.md" && !linked[p.Name] {
			t.Errorf("%s is linked by neither docs/README.md nor docs/decisions/README.md", p.Name)
		}
	}
}

// TestFilesInPages looks for the files and folders of the module that pages name in backquotes.
func TestFilesInPages(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	top := map[string]bool{}
	for _, e := range entries {
		top[e.Name()] = e.IsDir()
	}
	plain := regexp.MustCompile(`^[\w.*/-]+$`)
	notOurs := []string{"wal/mark", "docs/wire/NAME.md", "receivers/NAME", "rondo.db"} // files of the database, and examples
	found := 0
	for _, p := range readPages(t) {
		for _, s := range p.Spans {
			first, _, nested := strings.Cut(s.Text, "/")
			if !nested || !top[first] || !plain.MatchString(s.Text) || slices.Contains(notOurs, s.Text) {
				continue
			}
			found++
			if matches, err := filepath.Glob(filepath.Join(root, s.Text)); err != nil || len(matches) == 0 {
				t.Errorf("%s:%d names %s, which is not there", p.Name, s.Line, s.Text)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d files found: the pattern is wrong", found)
	}
}
