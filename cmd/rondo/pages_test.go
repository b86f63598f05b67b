package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/internal/pages"
)

// readPages reads every page except those that lie beside captured data.
func readPages(t *testing.T) (all []*pages.Page) {
	t.Helper()
	read, err := pages.Read(root)
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
	byName := map[string]*pages.Page{}
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

// TestPagesAreLinked: README.md leads to every page of docs, and the page of the decisions to each
// decision. No page linked to some of them.
func TestPagesAreLinked(t *testing.T) {
	linked := map[string]bool{}
	for _, p := range readPages(t) {
		if p.Name != "README.md" && p.Name != "docs/decisions/README.md" {
			continue
		}
		for _, l := range p.Links {
			to, _, _ := strings.Cut(l.Text, "#")
			linked[path.Join(path.Dir(p.Name), to)] = true
		}
	}
	for _, p := range readPages(t) {
		if strings.HasPrefix(p.Name, "docs/") && !linked[p.Name] {
			t.Errorf("%s is linked by neither README.md nor docs/decisions/README.md", p.Name)
		}
	}
}

var (
	goName   = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*){0,2}$`)
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)[A-Z]\w*$`)
	camel    = regexp.MustCompile(`^[A-Za-z][a-z0-9]+[A-Z]\w*[a-z]\w*$`)
	plain    = regexp.MustCompile(`^[\w.*/-]+$`)
)

// notOurs are words in backquotes that look like names of this module and are something else: a
// file of the database, a word of a configuration, what another program or module has.
var notOurs = []string{
	"wal/mark", "meta/log", "FILE.partial", "docs/wire/NAME.md", "receivers/NAME", "extra.KEY", "net.core.rmem_max",
	"rondo.v1.Rondo", "rondo.v1.Cluster", "connect.WithGRPC", "WorkDir", "lastUpdateUs", "nextPage", "deltaPos", "deltaNeg",
	"rrdtool.restore", "rrdtool.error", "rrdtool.info", "rrdtool.updatev", "rrdtool.fetch", "rrdtool.graph", "rrdtool.graphv", "rrdtool.OperationalError", // Python's
}

// dataFiles are the ends of names of files that no module has.
var dataFiles = []string{".rrd", ".xml", ".db", ".bolt", ".sock", ".spool", ".new", ".compacting", ".conf", ".cfg", ".pm", ".py", ".yaml", ".service"}

// TestNamesInPages looks for what pages name in backquotes: files and folders of the module,
// packages, and what they declare. A name that stands behind a Go file, or a test that stands
// behind a folder, must be declared there.
func TestNamesInPages(t *testing.T) {
	m, err := pages.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	top := map[string]bool{}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		top[e.Name()] = true
	}
	found := 0
	for _, p := range readPages(t) {
		place := "" // the Go file or folder that the names behind it are of
		for _, s := range p.Spans {
			if !s.Follows {
				place = ""
			}
			word := strings.TrimSuffix(strings.TrimPrefix(s.Text, "github.com/rondo-db/rondo/"), "()")
			if slices.Contains(notOurs, word) || slices.Contains(dataFiles, path.Ext(word)) {
				continue
			}
			first, _, nested := strings.Cut(word, "/")
			switch {
			case plain.MatchString(word) && (nested && top[first] || slices.Contains([]string{".go", ".md", ".mod", ".sum"}, path.Ext(word))):
				found++
				if !exists(t, word, path.Dir(p.Name)) {
					t.Errorf("%s:%d names the file %s, which is not there", p.Name, s.Line, word)
				}
				place = strings.TrimSuffix(word, "/")
			case nested || !goName.MatchString(word):
			case place != "" && m.HasFile(place):
				found++
				if _, elsewhere := declared(m, word); !m.InFile(place, word) && !elsewhere {
					t.Errorf("%s:%d: %s declares no %s", p.Name, s.Line, place, word)
				}
			case testName.MatchString(word):
				found++
				in, ok := m.InFolder(place, word)
				if !in && !m.Anywhere(word) || in && !ok {
					t.Errorf("%s:%d names %s, which is no test (of %s)", p.Name, s.Line, word, place)
				}
			case camel.MatchString(word):
				found++
				if !m.Anywhere(word) && !m.Member(word) {
					t.Errorf("%s:%d names %s, which no package declares", p.Name, s.Line, word)
				}
			case top[word] && !strings.Contains(word, "."):
				place = word
			case strings.Contains(word, "."):
				found++
				if _, ok := declared(m, word); !ok && !m.Anywhere(word) && !standard(word) {
					t.Errorf("%s:%d names %s, which no package declares", p.Name, s.Line, word)
				}
			}
		}
	}
	if found < 200 {
		t.Errorf("only %d names found: the pattern is wrong", found)
	}
}

// exists says whether a file or folder is there, from the root of the module or from a folder of
// it. A name without a folder may belong to any file.
func exists(t *testing.T, name, from string) bool {
	for _, dir := range []string{root, filepath.Join(root, from)} {
		if found, err := filepath.Glob(filepath.Join(dir, name)); err == nil && len(found) > 0 {
			return true
		}
	}
	if strings.Contains(name, "/") {
		return false
	}
	err := filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err == nil {
			if same, _ := path.Match(name, e.Name()); same {
				return errFound
			}
		}
		return err
	})
	if err != nil && !errors.Is(err, errFound) {
		t.Fatal(err)
	}
	return err != nil
}

var errFound = errors.New("found")

// declared says whether the part of a word before the point names a package of the module, and
// whether that package declares the rest of the word.
func declared(m *pages.Module, word string) (isPackage, ok bool) {
	pkg, name, _ := strings.Cut(word, ".")
	return m.InPackage(pkg, name)
}

// standard says whether a word may be a name that a package of the standard library declares. With
// -trimpath only the go command knows where that library is.
func standard(word string) bool {
	pkg, name, _ := strings.Cut(word, ".")
	_, err := os.Stat(filepath.Join(goRoot(), "src", pkg))
	return err == nil && name[0] >= 'A' && name[0] <= 'Z'
}

var goRoot = sync.OnceValue(func() string {
	out, _ := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out))
})
