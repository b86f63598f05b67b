//go:build faults

package core_test

import (
	"context"
	"fmt"
	"maps"
	"math"

	"github.com/rondo-db/rondo/engine/core"
)

// extraSeries are those that a faultRun has imported and altered, which are not of the model.
type extraSeries struct {
	sure  map[string]string    // the result of Export as text, by path
	maybe map[string][2]string // where a call has failed: what was so before (empty: none) and what would be so
	next  int
}

// copies imports copies of a series, replaces one and alters one. note gets the errors.
func (f *faultRun) copies(ctx context.Context, s *core.Store, note func(what string, err error)) {
	x := &f.extra
	if x.sure == nil {
		x.sure, x.maybe = make(map[string]string), make(map[string][2]string)
	}
	var of core.Copy
	for series, err := range s.Select(ctx, core.Query{Order: core.ByPath}) {
		if err == nil {
			of, err = s.Export(ctx, series.Ref)
		}
		if err != nil {
			note("export", err)
			return
		}
		break
	}
	if of.Definition == nil {
		return // no series was made
	}
	settle := func(what, path, text string, err error) {
		if err != nil {
			note(what, err)
			x.maybe[path] = [2]string{x.sure[path], text}
			delete(x.sure, path)
			return
		}
		x.sure[path] = text
		delete(x.maybe, path)
	}
	of.Path, of.Labels = fmt.Sprintf("extra/%d", x.next), []core.Label{{Name: "copy", Value: "yes"}}
	x.next++
	for range 2 { // the second takes the place of the first
		out, err := s.Import(ctx, []core.Copy{of}, true)
		if err == nil {
			err = out[0].Err
		}
		settle("import", of.Path, copyText(of), err)
		if err != nil {
			return
		}
		of.Labels = []core.Label{{Name: "copy", Value: "replaced"}}
	}
	var altered core.Copy
	_, err := s.Alter(ctx, of.Path, func(c core.Copy) (core.Copy, error) {
		c.Labels = []core.Label{{Name: "copy", Value: "altered"}}
		altered = c
		return c, nil
	})
	if err != nil && altered.Definition == nil { // it could not be read
		note("alter", err)
		return
	}
	settle("alter", of.Path, copyText(altered), err)
}

// extras compares the series of copies and returns how many there are.
func (f *faultRun) extras(s *core.Store) int {
	f.t.Helper()
	x := &f.extra
	for path, both := range maps.All(x.maybe) {
		have := f.exportText(s, path)
		if have != both[0] && have != both[1] {
			f.t.Fatalf("%s is %.200q after a call that failed, neither %.200q nor %.200q", path, have, both[0], both[1])
		}
		if have != "" {
			x.sure[path] = have
		}
		delete(x.maybe, path)
	}
	for path, want := range x.sure {
		if have := f.exportText(s, path); have != want {
			f.t.Fatalf("%s is %.200q, want %.200q", path, have, want)
		}
	}
	return len(x.sure)
}

// exportText exports the series at a path and returns it as text. It returns "" if no series has
// the path.
func (f *faultRun) exportText(s *core.Store, path string) string {
	f.t.Helper()
	ref, err := s.Lookup(path)
	if err != nil {
		return ""
	}
	c, err := s.Export(f.t.Context(), ref)
	if err != nil {
		f.t.Fatalf("%s: %v", path, err)
	}
	return copyText(c)
}

// copyText is everything of a copy, with unknown rows at the front left out.
func copyText(c core.Copy) string {
	text := fmt.Sprint(c.Path, c.Labels, c.State.W, c.State.Text, *c.Definition)
	for _, rows := range c.Rows {
		for len(rows) > 0 && math.IsNaN(rows[0]) {
			rows = rows[1:]
		}
		text += fmt.Sprint(rows)
	}
	return text
}
