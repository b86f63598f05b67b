package rrdfile

import (
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A File is the content of a native file or of a dump.
type File struct {
	Version    int // 1 to 5
	Definition rra.Definition

	// State is the state of the series, with all rows of the archives.
	State rra.Snapshot

	// unclear are the indices of COMPUTE data sources whose expression cannot be written as text,
	// because a data source that it refers to has the name of an operator.
	unclear []int
}

// New returns the file of a series, from a state of m and the rows of each archive. Rows are oldest
// first, with the values of all data sources side by side. Rows of SEASONAL and DEVSEASONAL
// archives are ignored, because the state contains them.
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
			f.Definition.Archives[i].SmoothingWindow = Smoothing(a) // from version 4 on it is written
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

// VersionOf returns the version of the native file that rrdtool makes for d: 3, 4 or 5.
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

// newest rounds last down to a multiple of step. Like rrdtool it calculates without a sign, which
// matters for times before 1970.
func newest(last, step int64) int64 {
	if step == 0 {
		return last
	}
	return last - int64(uint64(last)%uint64(step))
}

// Machine compiles the definition. Archives with one PDP a row share their rows in a series. One
// that holds other rows than the longest of them gets rows of its own ([rra.Archive.Own]). The
// error is an [*rra.FieldError].
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

// StateOf returns the state of the series for m, the result of [File.Machine]. The error is an
// [*rra.FieldError].
func (f *File) StateOf(m *rra.Machine) (rra.State, error) { return m.Import(&f.State) }

const unclear = "the expression refers to a data source by a name that means something else"

// Smoothing returns the smoothing window of an archive, or rrdtool's default if it has none.
func Smoothing(a *rra.Archive) float64 {
	if math.IsNaN(a.SmoothingWindow) {
		return 0.05
	}
	return a.SmoothingWindow
}
