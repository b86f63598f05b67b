package rrdfile

import (
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A File is what a file of rrdtool holds.
type File struct {
	Version    int // 1 to 5
	Definition rra.Definition

	// State is what the series remembers; its archives have all their rows.
	State rra.Snapshot

	// unclear are COMPUTE data sources whose expression, written out, says something else: one of
	// the data sources they refer to has the name of an operator.
	unclear []int
}

// New returns the file of a series: of a state of m, and the rows of each archive, oldest first,
// data source beside data source. The rows of SEASONAL and DEVSEASONAL archives are in the state:
// theirs are not looked at.
func New(m *rra.Machine, s *rra.State, rows [][]float64) (*File, error) {
	d := m.Definition()
	f := &File{
		Version:    VersionOf(d),
		Definition: rra.Definition{Step: d.Step, Sources: slices.Clone(d.Sources), Archives: slices.Clone(d.Archives)},
		State:      *m.Snapshot(s),
	}
	if len(rows) != len(d.Archives) {
		return nil, &FieldError{"rra", fmt.Sprintf("rows of %d archives, there are %d", len(rows), len(d.Archives))}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		f.Definition.Archives[i].Own = false
		if isSeasonal(a.CF) && f.Version >= 4 {
			f.Definition.Archives[i].SmoothingWindow = smoothing(a) // these say it
		}
		if m.StreamOf(i) < 0 {
			continue
		}
		if want := int(a.Rows) * len(d.Sources); len(rows[i]) != want {
			return nil, &FieldError{fmt.Sprintf("rra[%d].rows", i), fmt.Sprintf("%d values, there are %d", len(rows[i]), want)}
		}
		f.State.Archives[i].Rows = rows[i]
	}
	return f, nil
}

// VersionOf returns the version of the file that rrdtool makes for d.
func VersionOf(d *rra.Definition) int {
	for i := range d.Sources {
		if k := d.Sources[i].Kind; k == rra.DCounter || k == rra.DDerive {
			return 5
		}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		if a.CF == rra.MHWPredict || isSeasonal(a.CF) && !math.IsNaN(a.SmoothingWindow) {
			return 4
		}
	}
	return 3
}

func isSeasonal(cf rra.CF) bool { return cf == rra.Seasonal || cf == rra.DevSeasonal }

// Step returns the seconds of a row of an archive.
func (f *File) Step(archive int) int64 {
	return f.Definition.Step * f.Definition.Archives[archive].PDPs
}

// Newest returns the second at which the newest row of an archive ends.
func (f *File) Newest(archive int) int64 {
	return newest(f.State.LastUpdate.Unix(), f.Step(archive))
}

// newest cuts last to a multiple of step, in the unsigned arithmetic of rrdtool: before 1970 too.
func newest(last, step int64) int64 {
	if step == 0 {
		return last
	}
	return last - int64(uint64(last)%uint64(step))
}

// Machine compiles the definition. Archives with one PDP a row that hold other rows than the
// longest of them are given rows of their own ([rra.Archive.Own]). The error is an
// [*rra.FieldError].
func (f *File) Machine() (*rra.Machine, error) {
	if len(f.unclear) > 0 {
		return nil, &rra.FieldError{Field: fmt.Sprintf("ds[%d].expr", f.unclear[0]), Err: unclear}
	}
	d := &rra.Definition{
		Step: f.Definition.Step, Sources: slices.Clone(f.Definition.Sources), Archives: slices.Clone(f.Definition.Archives),
	}
	longest := -1
	for i := range d.Archives {
		a := &d.Archives[i]
		a.Own = false
		if a.CF <= rra.Last && a.PDPs == 1 && (longest < 0 || a.Rows > d.Archives[longest].Rows) {
			longest = i
		}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		if i != longest && a.CF <= rra.Last && a.PDPs == 1 {
			a.Own = !endsWith(f.State.Archives[longest].Rows, f.State.Archives[i].Rows)
		}
	}
	return rra.Compile(d)
}

// endsWith reports whether the last of rows are those of tail.
func endsWith(rows, tail []float64) bool {
	if len(tail) > len(rows) {
		return false
	}
	rows = rows[len(rows)-len(tail):]
	for i, v := range tail {
		if w := rows[i]; math.Float64bits(v) != math.Float64bits(w) && (v == v || w == w) {
			return false
		}
	}
	return true
}

// StateOf returns the state that m, which is [File.Machine], goes on from. The error is an
// [*rra.FieldError].
func (f *File) StateOf(m *rra.Machine) (rra.State, error) { return m.Import(&f.State) }

// StreamRows returns the rows of a stream of m, which is [File.Machine]: oldest first, data source
// beside data source. They are part of f. Last is the number of the newest one: row k of a stream
// ends at k times its PDPs times the step.
func (f *File) StreamRows(m *rra.Machine, stream int) (rows []float64, last int64) {
	s := &m.Streams()[stream]
	longest := s.Archives[0]
	for _, i := range s.Archives {
		if f.Definition.Archives[i].Rows > f.Definition.Archives[longest].Rows {
			longest = i
		}
	}
	step := f.Step(longest)
	return f.State.Archives[longest].Rows, f.Newest(longest) / step
}
