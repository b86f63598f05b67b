package reshape

import (
	"math"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// MaxRows is the largest number of rows that an archive can have, in rrdtool's files and in rondo.
const MaxRows = math.MaxInt32

// A Series is a series taken apart. Its fields may be changed as long as they go on to fit each
// other.
type Series struct {
	Definition rra.Definition
	State      *rra.Snapshot
	// Rows holds the whole ring of each archive, oldest row first. A row is one value for each data
	// source.
	Rows [][]float64
	// Name decides in which step the seasons of archives that are added are smoothed.
	Name string
	// Origin is the copy that was taken apart. Copy takes path and labels from it.
	Origin core.Copy
}

// Apart takes a copy of a series apart. Changes of the parts leave the copy as it is.
func Apart(c core.Copy) (*Series, error) {
	m, err := rra.Compile(c.Definition)
	if err != nil {
		return nil, err
	}
	s := &Series{Origin: c, Definition: *c.Definition, State: m.Snapshot(&c.State), Name: c.Path}
	s.Definition.Sources = slices.Clone(s.Definition.Sources)
	s.Definition.Archives = slices.Clone(s.Definition.Archives)
	for i := range s.Definition.Archives {
		size := int(s.Definition.Archives[i].Rows) * len(s.Definition.Sources)
		rows := s.State.Archives[i].Rows
		if rows == nil {
			kept := c.Rows[i]
			rows = append(unknown(size-len(kept)), kept...)
		}
		s.Rows = append(s.Rows, rows)
	}
	return s, nil
}

func unknown(n int) []float64 {
	return slices.Repeat([]float64{math.NaN()}, n)
}

// Copy puts the parts together. The copy shares memory with s. An error says that the parts do not
// fit each other.
func (s *Series) Copy() (core.Copy, error) {
	if err := s.Definition.Validate(); err != nil {
		return core.Copy{}, err
	}
	m, err := rra.Compile(&s.Definition)
	if err != nil {
		return core.Copy{}, err
	}
	for i := range s.Rows {
		s.State.Archives[i].Rows = s.Rows[i]
	}
	c := s.Origin
	c.Definition, c.Rows = &s.Definition, s.Rows
	c.State, err = m.Import(s.State)
	return c, err
}

// fresh returns the state of a series that has the definition of s and has never been updated.
func (s *Series) fresh() (*rra.Snapshot, error) {
	m, err := rra.Compile(&s.Definition)
	if err != nil {
		return nil, err
	}
	state := m.NewState(s.State.LastUpdate)
	m.SmoothBy(state.W, rra.NameHash(s.Name))
	return m.Snapshot(&state), nil
}

// Last returns the second of the last update.
func (s *Series) Last() int64 { return s.State.LastUpdate.Unix() }

// Source returns the index of the data source with this name, or -1.
func (s *Series) Source(name string) int {
	return slices.IndexFunc(s.Definition.Sources, func(d rra.DataSource) bool { return d.Name == name })
}

// Archive returns the index of the first archive with this CF, or -1.
func (s *Series) Archive(cf rra.CF) int {
	return slices.IndexFunc(s.Definition.Archives, func(a rra.Archive) bool { return a.CF == cf })
}

// Forget makes the Holt-Winters models of a data source begin anew, as if nothing had been learnt.
func (s *Series) Forget(ds int) {
	nan := math.NaN()
	for i := range s.Definition.Archives {
		c := &s.State.Archives[i].CDPs[ds]
		switch s.Definition.Archives[i].CF {
		case rra.HWPredict, rra.MHWPredict:
			c.Intercept, c.LastIntercept, c.Slope, c.LastSlope = nan, nan, nan, nan
			c.NullCount, c.LastNullCount = 1, 1
		case rra.Seasonal, rra.DevSeasonal:
			c.Seasonal, c.LastSeasonal = nan, nan
			for k := ds; k < len(s.Rows[i]); k += len(s.Definition.Sources) {
				s.Rows[i][k] = nan
			}
		case rra.Failures:
			c.History = ""
		}
	}
}

// Rewind puts the last row of every archive at the end of its ring, where rrdtool's tune puts it.
func (s *Series) Rewind() {
	for i := range s.State.Archives {
		s.State.Archives[i].CurRow = s.Definition.Archives[i].Rows - 1
	}
}
