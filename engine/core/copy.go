package core

import (
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// A Copy is a whole series. Export returns one, Import takes one.
type Copy struct {
	Path       string
	Labels     []Label
	Definition *rra.Definition
	// State is a state of the definition's machine. It includes the rows of SEASONAL and
	// DEVSEASONAL archives.
	State rra.State
	// Rows holds the rows of each other archive, oldest first. The last row is the newest that
	// ended at or before the last update. Row i of source j is Rows[archive][i*sources+j]. Rows
	// that are left out at the front are unknown.
	Rows [][]float64

	last rra.Time // set by Export: the last update
}

// An importing is a checked Copy on its way into the store.
type importing struct {
	planned
	state    rra.State
	strips   []importStrip
	replaces Ref // the only series that it may replace; 0: Overwrite decides
	reserved *reservation
	plan     []planned // what reserve has returned
}

// An importStrip is coded rows of one column, all in one slot: rowblock.MaxMixed rows at most, or
// any number of rows of one value.
type importStrip struct {
	column int   // stream * sources + source
	k      int64 // number of the first row
	rows   int
	data   []byte
}

// checkState refuses a state that cannot be stepped.
func (x *importing) checkState() error {
	if err := x.m.Check(&x.state); err != nil {
		return err
	}
	if at := x.m.LastUpdate(x.state.W); at > MaxTime || at < 0 {
		return invalid("last update %d is out of range", at)
	}
	return nil
}

// ownRows returns d, or a copy of it in which archives with one PDP a row whose rows differ from
// those of the longest have rows of their own.
func ownRows(d *rra.Definition, rows [][]float64) *rra.Definition {
	shares := func(i int) bool {
		a := &d.Archives[i]
		return a.CF <= rra.Last && a.PDPs == 1 && !a.Own && i < len(rows)
	}
	longest := -1
	for i := range d.Archives {
		if shares(i) && (longest < 0 || d.Archives[i].Rows > d.Archives[longest].Rows) {
			longest = i
		}
	}
	out := d
	for i := range d.Archives {
		if i == longest || !shares(i) || sameTail(rows[longest], rows[i], int(d.Archives[i].Rows)*len(d.Sources)) {
			continue
		}
		if out == d {
			out = &rra.Definition{Step: d.Step, Sources: d.Sources, Archives: slices.Clone(d.Archives)}
		}
		out.Archives[i].Own = true
	}
	return out
}

// sameTail reports whether the last n values of a and b are equal. Values before the front of a
// slice count as unknown.
func sameTail(a, b []float64, n int) bool {
	at := func(v []float64, i int) float64 {
		if i > len(v) {
			return math.NaN()
		}
		return v[len(v)-i]
	}
	for i := 1; i <= min(n, max(len(a), len(b))); i++ {
		x, y := at(a, i), at(b, i)
		if math.Float64bits(x) != math.Float64bits(y) && !(x != x && y != y) {
			return false
		}
	}
	return true
}
