package dashboards_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/query/dashboards"
)

const example = `# of the shop
title: Web servers

graph: Load
  --lower-limit 0
  --rigid
  DEF:l=web1/load:shortterm:AVERAGE
  LINE1:l#1f6feb:load  
graph:
HRULE:5#f00
`

func TestParse(t *testing.T) {
	p, err := dashboards.Parse(example)
	if err != nil {
		t.Fatal(err)
	}
	if p.Title != "Web servers" || len(p.Graphs) != 2 || p.Graphs[0].Title != "Load" || p.Graphs[0].Line != 4 || p.Graphs[1].Title != "" {
		t.Errorf("got %+v", p)
	}
	want := []string{"--lower-limit", "0", "--rigid", "DEF:l=web1/load:shortterm:AVERAGE", "LINE1:l#1f6feb:load  "}
	if !slices.Equal(p.Graphs[0].Args, want) {
		t.Errorf("got %q, want %q", p.Graphs[0].Args, want)
	}
}

func TestParseSaysWhere(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"LINE:1", `line 1: "LINE:1" stands before the first graph`},
		{"title: a\n\ngraph: b\nLINE:1#f00:\x01", "line 4: holds a control character"},
		{"title: \xff", "line 1: is no UTF-8"},
		{"variable: host\nvariable: a-b", `line 2: a variable "a-b"`},
		{"variable:", `line 1: a variable ""`},
		{"variable: a\nvariable: a", "line 2: the variable a is there twice"},
		{"variable: a\nvariable: b\nvariable: c\nvariable: d\nvariable: e", "line 5: more than 4 variables"},
		{"graph:\nPROMQL:a b=up", `line 2: "PROMQL:a b=up": want PROMQL:NAME=EXPRESSION`},
		{"graph:\nPROMQL:" + strings.Repeat("a", 256) + "=up", `line 2: "PROMQL:aaaa`},
		{"variable: " + strings.Repeat("a", 65), `line 1: a variable "aaaa`},
		{"graph:\nPROMQL:a=" + strings.Repeat("x", 4096), "line 2: a line of PromQL of 4105 bytes"},
		{"title: " + strings.Repeat("x", 201), "line 1: a title of 201 bytes"},
		{strings.Repeat("graph:\n", dashboards.MaxGraphs+1), "line 65: more than 64 graphs"},
		{"graph:\n" + strings.Repeat("LINE:1\n", 513), "line 514: a graph of more than 512 arguments"},
		{strings.Repeat("#", dashboards.MaxText+1), "the page has 131073 bytes"},
	} {
		_, err := dashboards.Parse(tt.text)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) || !errors.As(err, new(*dashboards.ParseError)) {
			t.Errorf("%.40q: got %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestFilled(t *testing.T) {
	p, err := dashboards.Parse("variable: host\ngraph: Load of $host\n--title ${host}\nDEF:l=web/$host/load:one$hostel:AVERAGE\nPROMQL:q=up{instance=\"$host\"}\n")
	if err != nil {
		t.Fatal(err)
	}
	g, err := p.Filled(p.Graphs[0], map[string]string{"host": `a:b\c`})
	want := []string{"--title", `a:b\c`, `DEF:l=web/a\:b\\c/load:one$hostel:AVERAGE`, `PROMQL:q=up{instance="a:b\\c"}`}
	if err != nil || g.Title != `Load of a:b\c` || !slices.Equal(g.Args, want) || !g.Queries() {
		t.Errorf("got %+v, %v", g, err)
	}
	for _, v := range []string{"", "a\nb", "\xff", strings.Repeat("x", 257)} {
		if g, err := p.Filled(p.Graphs[0], map[string]string{"host": v}); err == nil {
			t.Errorf("%.10q: %+v", v, g)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add("graph:\n-\n- \n--x")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := dashboards.Parse(text)
		if err != nil {
			return
		}
		if len(p.Graphs) > dashboards.MaxGraphs {
			t.Errorf("%d graphs", len(p.Graphs))
		}
		for _, g := range p.Graphs {
			if slices.Contains(g.Args, "") {
				t.Errorf("an empty argument in %q", g.Args)
			}
		}
	})
}

func TestFolder(t *testing.T) {
	db := t.TempDir()
	f := dashboards.In(db)
	if list, err := f.List(); err != nil || len(list) != 0 {
		t.Errorf("before the first: %v, %v", list, err)
	}
	if _, err := f.Read("web"); !errors.Is(err, dashboards.ErrNotFound) {
		t.Errorf("before the first: %v", err)
	}
	for _, text := range []string{"title: old\n", example} {
		if err := f.Save(t.Context(), "web", text); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Save(t.Context(), "all", "# nothing yet\n"); err != nil {
		t.Fatal(err)
	}
	list, err := f.List()
	if err != nil || !slices.Equal(list, []dashboards.Entry{{Name: "all"}, {Name: "web", Title: "Web servers"}}) {
		t.Errorf("got %v, %v", list, err)
	}
	if text, err := f.Read("web"); err != nil || text != example {
		t.Errorf("got %q, %v", text, err)
	}
	var p *dashboards.ParseError
	if err := f.Save(t.Context(), "web", "LINE:1"); !errors.As(err, &p) {
		t.Errorf("a wrong text: %v", err)
	}
	if text, err := f.Read("web"); err != nil || text != example {
		t.Errorf("a wrong text has changed the page: %q, %v", text, err)
	}
	if files, err := filepath.Glob(filepath.Join(db, dashboards.FolderName, ".*")); err != nil || len(files) != 0 {
		t.Errorf("left: %v, %v", files, err)
	}
	if info, err := os.Stat(filepath.Join(db, dashboards.FolderName, "web")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info, err)
	}
	if err := f.Drop(t.Context(), "web"); err != nil {
		t.Error(err)
	}
	if err := f.Drop(t.Context(), "web"); !errors.Is(err, dashboards.ErrNotFound) {
		t.Errorf("dropped twice: %v", err)
	}
}

func TestNamesStayInTheFolder(t *testing.T) {
	f := dashboards.In(t.TempDir())
	for _, name := range []string{"", ".", "..", "../x", "a/b", ".hidden", "-f", "_x", "a b", "ä", "a\x00", strings.Repeat("x", 65)} {
		if err := f.Save(t.Context(), name, ""); !errors.Is(err, dashboards.ErrName) {
			t.Errorf("Save(%q): %v", name, err)
		}
		if _, err := f.Read(name); !errors.Is(err, dashboards.ErrName) {
			t.Errorf("Read(%q): %v", name, err)
		}
		if err := f.Drop(t.Context(), name); !errors.Is(err, dashboards.ErrName) {
			t.Errorf("Drop(%q): %v", name, err)
		}
	}
}

// TestHostileFilesAreErrors: whatever stands in the folder, reading it ends, with a text or an
// error.
func TestHostileFilesAreErrors(t *testing.T) {
	db := t.TempDir()
	dir := filepath.Join(db, dashboards.FolderName)
	outside := filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.Mkdir(dir, 0o700), os.WriteFile(outside, []byte("title: secret"), 0o600),
		os.Symlink(outside, filepath.Join(dir, "link")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700),
		os.WriteFile(filepath.Join(dir, "long"), make([]byte, dashboards.MaxText+1), 0o600),
		os.WriteFile(filepath.Join(dir, "bytes"), []byte{0xff, 0xfe}, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	f := dashboards.In(db)
	for _, name := range []string{"link", "pipe", "folder", "long", "bytes"} {
		if text, err := f.Read(name); !errors.Is(err, dashboards.ErrFile) {
			t.Errorf("%s: %.20q, %v", name, text, err)
		}
	}
	for _, name := range []string{"link", "pipe", "folder"} {
		if err := f.Save(t.Context(), name, ""); !errors.Is(err, dashboards.ErrFile) {
			t.Errorf("saved over %s: %v", name, err)
		}
	}
	if list, err := f.List(); err != nil || len(list) != 2 {
		t.Errorf("got %v, %v", list, err)
	}
	other := t.TempDir()
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(other, dashboards.FolderName)); err != nil {
		t.Fatal(err)
	}
	linked := dashboards.In(other)
	text, err := linked.Read("secret")
	_, listed := linked.List()
	for _, err := range []error{err, listed, linked.Save(t.Context(), "a", "title: a\ngraph:\n"), linked.Drop(t.Context(), "a")} {
		if !errors.Is(err, dashboards.ErrFolder) {
			t.Errorf("a folder that is a link: %q, %v", text, err)
		}
	}
}

func TestPagesAreNotWithoutNumber(t *testing.T) {
	db := t.TempDir()
	dir := filepath.Join(db, dashboards.FolderName)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range dashboards.MaxPages {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := dashboards.In(db)
	if err := f.Save(t.Context(), "more", ""); !errors.Is(err, dashboards.ErrFull) {
		t.Errorf("one too many: %v", err)
	}
	if err := f.Save(t.Context(), "7", "title: x"); err != nil {
		t.Errorf("in place of another: %v", err)
	}
}
