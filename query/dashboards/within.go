package dashboards

import (
	"slices"
	"strings"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// ReadFor returns the text of a page, and the page, as a user may see them: those who are limited
// to folders see the graphs that show series of these folders only. A page without such a graph,
// and a text with a mistake, are ErrNotFound for them. For others, the error of a mistake is a
// [*ParseError], and the text is returned with it.
func (f *Folder) ReadFor(u *access.User, name string) (text string, p *Page, err error) {
	if text, err = f.Read(name); err != nil {
		return "", nil, err
	}
	p, err = Parse(text)
	if !u.Limited() {
		return text, p, err
	}
	if err == nil {
		text, p = within(u, text, p)
	}
	if err != nil || len(p.Graphs) == 0 {
		return "", nil, ErrNotFound
	}
	return text, p, nil
}

// ListFor returns the pages that a user may see, in the order of their names.
func (f *Folder) ListFor(u *access.User) ([]Entry, error) {
	all, err := f.List()
	if err != nil || !u.Limited() {
		return all, err
	}
	return slices.DeleteFunc(all, func(e Entry) bool {
		_, _, err := f.ReadFor(u, e.Name)
		return err != nil
	}), nil
}

// within returns a page and its text without comments and without the graphs that a user may not
// see.
func within(u *access.User, text string, p *Page) (string, *Page) {
	lines := strings.SplitAfter(text, "\n")
	end := len(lines) // the line behind a graph; the first is 0
	for _, g := range slices.Backward(p.Graphs) {
		if !g.reached(u) {
			lines = slices.Delete(lines, g.Line-1, end)
		}
		end = g.Line - 1
	}
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " \t"), "#") })
	text = strings.Join(lines, "")
	p, err := Parse(text)
	if err != nil { // it is part of what was parsed before
		return "", &Page{}
	}
	return text, p
}

// reached reports whether g draws series, and a user reaches them all.
func (g *Graph) reached(u *access.User) bool {
	sketch, err := rrdtool.NewSketch(&rrdtool.Env{}, g.Args, rrdtool.Wish{})
	if err != nil {
		return false
	}
	names := sketch.Names()
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		path, err := rrdtool.Path("", "", name)
		return err != nil || !u.Reaches(path)
	})
}
