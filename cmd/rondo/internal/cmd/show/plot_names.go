package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/glob"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/rra"
)

// A plotLine is a data source that is drawn.
type plotLine struct {
	path, ds string
	def      *rra.Definition
	alone    bool   // the series has no other data source
	unit     string // of the values; may be empty
	row      int64  // seconds of the finest row
	last     int64  // second of the last update
}

// lines returns the data sources that names mean, each once, in the order of the names.
func (p *plotting) lines(ctx context.Context, o *backend.Database, names []string) ([]*plotLine, error) {
	pick, err := cli.NewPicker(p.Factory, o)
	if err != nil {
		return nil, err
	}
	f := &lineFinder{plotting: p, pick: pick, seen: make(map[string]bool)}
	for _, name := range names {
		if err := f.find(ctx, name); err != nil {
			return nil, cli.WithoutPrefix(err)
		}
	}
	if len(f.found) == 0 {
		return nil, fmt.Errorf("no data source of %s fits --ds %s; there are %s", cli.Quoted(strings.Join(names, " ")), strings.Join(p.ds, ","), strings.Join(f.sources, ", "))
	}
	return f.found, nil
}

// A lineFinder collects data sources.
type lineFinder struct {
	*plotting
	pick    *cli.Picker
	found   []*plotLine
	seen    map[string]bool // by path and data source
	sources []string        // all that were met, those that --ds leaves out, too
}

// find adds what one argument means.
func (f *lineFinder) find(ctx context.Context, name string) error {
	if strings.ContainsAny(name, "*?") {
		return f.matching(ctx, name)
	}
	info, err := f.pick.Exactly(ctx, name)
	if err == nil {
		return f.add(info, f.ds)
	}
	if !errors.Is(err, core.ErrNotFound) {
		return err
	}
	if i := strings.LastIndexByte(name, ':'); i > 0 && i < len(name)-1 {
		if info, e := f.pick.Exactly(ctx, name[:i]); e == nil {
			return f.add(info, []string{name[i+1:]})
		}
	}
	path, e := f.pick.Path(name)
	if e != nil {
		return e
	}
	paths, e := f.below(ctx, cli.FolderOf(path), nil)
	if e != nil || len(paths) > 0 {
		return cmp.Or(e, f.addAll(ctx, name, paths))
	}
	return f.pick.Missing(ctx, name)
}

// matching adds the series whose path a pattern matches. The last colon may be followed by a data
// source.
func (f *lineFinder) matching(ctx context.Context, pattern string) error {
	path, err := f.pick.Path(pattern)
	if err != nil {
		return err
	}
	prefix := path[:strings.IndexAny(path, "*?")]
	matches := glob.Path(path).MatchString
	paths, err := f.below(ctx, prefix, matches)
	if err != nil || len(paths) > 0 {
		return cmp.Or(err, f.addAll(ctx, pattern, paths))
	}
	if i := strings.LastIndexByte(pattern, ':'); i > 0 && i < len(pattern)-1 && len(f.ds) == 0 {
		sub := *f.plotting
		sub.ds = []string{pattern[i+1:]}
		narrow := *f
		narrow.plotting = &sub
		err := narrow.matching(ctx, pattern[:i])
		f.found, f.sources = narrow.found, narrow.sources
		return err
	}
	return fmt.Errorf("no series matches %s", cli.Quoted(pattern))
}

// below returns the paths that begin with prefix and match, as many as can be drawn and one more.
func (f *lineFinder) below(ctx context.Context, prefix string, matches func(string) bool) ([]string, error) {
	return f.pick.Matching(ctx, &rondov1.ListRequest{Prefix: prefix, Brief: true, Limit: 10_000}, matches, cli.MostLines)
}

// addAll adds the data sources of several series.
func (f *lineFinder) addAll(ctx context.Context, name string, paths []string) error {
	if len(paths) > cli.MostLines {
		return fmt.Errorf("%s is more than %d series, which no chart can show: name a folder below it, or a pattern", cli.Quoted(name), cli.MostLines)
	}
	for _, path := range paths {
		info, err := f.pick.Info(ctx, path)
		if err != nil {
			return err
		}
		if err := f.add(info, f.ds); err != nil {
			return err
		}
	}
	return nil
}

// add adds the data sources of a series, those that a pattern of ds matches if there are any.
func (f *lineFinder) add(info *rondov1.InfoResponse, ds []string) error {
	s := info.GetSeries()
	d := s.GetDefinition()
	def, err := rra.ParseDefinition(d.GetStep(), append(append([]string(nil), d.GetDs()...), d.GetRra()...))
	if err != nil {
		return err
	}
	row := def.Step
	fits := 0
	for i := range def.Sources {
		name := def.Sources[i].Name
		if !slices.Contains(f.sources, name) {
			f.sources = append(f.sources, name)
		}
		matches := func(pattern string) bool { return glob.Text(pattern).MatchString(name) }
		if len(ds) > 0 && !slices.ContainsFunc(ds, matches) {
			continue
		}
		fits++
		if f.seen[s.GetPath()+":"+name] {
			continue
		}
		f.seen[s.GetPath()+":"+name] = true
		f.found = append(f.found, &plotLine{
			path: s.GetPath(), ds: name, def: def, alone: len(def.Sources) == 1, unit: unitOf(info.GetMetadata()),
			row: row, last: info.GetLastUpdateUs() / 1_000_000,
		})
	}
	if len(f.found) > cli.MostLines {
		return fmt.Errorf("these are more than %d data sources, which no chart can show: name fewer, or choose some by --ds", cli.MostLines)
	}
	if fits == 0 && len(f.ds) == 0 { // NAME:DS
		var have []string
		for i := range def.Sources {
			have = append(have, def.Sources[i].Name)
		}
		return fmt.Errorf("series %s has no data source %s; it has %s", cli.Quoted(s.GetPath()), cli.Quoted(ds[0]), strings.Join(have, ", "))
	}
	return nil
}

// unitOf returns the unit that a sender has given.
func unitOf(m *typesv1.Metadata) string {
	for _, a := range m.GetAttributes() {
		if n := strings.ToLower(a.GetName()); n == "units" || n == "unit" {
			return cli.OneLine(strings.TrimSpace(a.GetValue()))
		}
	}
	return ""
}
