package rra

import (
	"cmp"
	"slices"
)

// A Series is a Machine and a State, for programs that use this package alone. It keeps no rows
// except in SEASONAL and DEVSEASONAL archives.
type Series struct {
	Machine *Machine
	State   State
}

// NewSeries returns a new series whose last update was at start, cut to a whole second. The name
// stands for rrdtool's file name: it decides at which row seasonal coefficients are smoothed.
func NewSeries(m *Machine, name string, start Time) *Series {
	s := &Series{Machine: m, State: m.NewState(start)}
	m.SmoothBy(s.State.W, NameHash(name))
	return s
}

// A Row is one finished row of an archive.
type Row struct {
	Archive int       // index into Definition.Archives
	End     Time      // the row covers the time up to here
	Values  []float64 // one for each data source; NaN: unknown
}

// Update folds one reading of every data source into s. It returns the rows that end, oldest first,
// but of each archive no more rows than it holds. values has one value for each data source that is
// not COMPUTE, in their order. Values of TagText refer to texts. Each Update is an update command
// of its own.
//
// If at is not after the last update, the error is a *TimeError, and s has not changed.
func (s *Series) Update(at Time, values []Value, texts ...string) ([]Row, error) {
	runs, err := s.Machine.Step(&s.State, at, values, texts, nil)
	if err != nil {
		s.Machine.AbortUpdate(&s.State)
		return nil, err
	}
	s.Machine.EndUpdate(&s.State)
	return s.Machine.Rows(runs), nil
}

// LastUpdate returns the time of the last reading.
func (s *Series) LastUpdate() Time { return s.Machine.LastUpdate(s.State.W) }

// Rows returns the runs of one Step as rows of the archives, oldest first.
func (m *Machine) Rows(runs []Run) []Row {
	type key struct {
		stream int32
		k      int64
	}
	values := make(map[key][]float64)
	var keys []key
	for _, r := range runs {
		for k := r.First; k < r.First+r.Count; k++ {
			id := key{r.Stream, k}
			if values[id] == nil {
				values[id] = make([]float64, len(m.sources))
				keys = append(keys, id)
			}
			values[id][r.DS] = r.Value
		}
	}
	newest := make(map[int32]int64)
	for _, id := range keys {
		newest[id.stream] = max(newest[id.stream], id.k)
	}
	var rows []Row
	for _, id := range keys {
		s := &m.streams[id.stream]
		for _, a := range s.Archives {
			if id.k > newest[id.stream]-m.archives[a].rows {
				rows = append(rows, Row{Archive: a, End: Seconds(id.k * s.PDPs * m.step), Values: values[id]})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Archive, b.Archive))
	})
	return rows
}
