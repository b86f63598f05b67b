package sink

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// replaceAtOnce is how many series are replaced at a time: they share the waits for the disk.
const replaceAtOnce = 128

// errChanged says that a series has more than the samples of a replacement, or was made otherwise.
var errChanged = errors.New("the series has changed")

// A replacement asks for another definition of a series that has had samples and nothing else. A
// series that anybody else has written or altered is left as it is, with the Err errChanged. Time
// and Since are what the series was made with.
type replacement struct {
	receivers.Request
	Samples []Sample // all, in the order of their times
}

// A Sample is a reading of the one data source of a series.
type Sample struct {
	At    rra.Time
	Value rra.Value
}

// replaceMany replaces series, and fills in the requests as Resolve does. The references are new.
func (s *Sink) replaceMany(ctx context.Context, rs []replacement) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range min(replaceAtOnce, len(rs)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(rs)); i = next.Add(1) - 1 {
				s.replace(ctx, &rs[i])
			}
		})
	}
	all.Wait()
}

// replace replaces one series. Whether it has had the samples and nothing else is seen by its state
// and its rows, which show each sample and each other change; the store calls the function again if
// they change before it is replaced.
func (s *Sink) replace(ctx context.Context, r *replacement) {
	r.Ref, r.Definition, r.Err = 0, nil, ctx.Err()
	if r.Err != nil {
		return
	}
	d, err := s.Policy().DefineRequest(&r.Request)
	if err != nil {
		r.Err = err
		return
	}
	r.Ref, r.Err = s.store.Alter(ctx, r.Path, func(c core.Copy) (core.Copy, error) {
		state, rows, err := filled(c.Definition, r)
		if err != nil || !slices.Equal(c.State.W, state.W) || !slices.Equal(c.State.Text, state.Text) || !sameRows(c.Rows, rows) {
			return core.Copy{}, errChanged
		}
		c.Definition = d
		c.State, c.Rows, err = filled(d, r)
		return c, err
	})
	if r.Err == nil {
		r.Definition = d
	}
}

// filled returns a series as it is if it was made with a definition and has had the samples of r.
func filled(d *rra.Definition, r *replacement) (rra.State, [][]float64, error) {
	m, err := rra.Compile(d)
	if err != nil {
		return rra.State{}, nil, err
	}
	state := m.NewState(r.Starts(d))
	rows := make([][]float64, len(d.Archives))
	for _, x := range r.Samples {
		runs, err := m.Step(&state, x.At, []rra.Value{x.Value}, nil, nil)
		if err != nil {
			return rra.State{}, nil, err
		}
		for _, row := range m.Rows(runs) {
			all := append(rows[row.Archive], row.Values...)
			most := min(int64(len(all)), d.Archives[row.Archive].Rows*int64(len(d.Sources)))
			rows[row.Archive] = all[int64(len(all))-most:]
		}
	}
	return state, rows, nil
}

// sameRows reports whether two series have the same rows. Rows that are left out at the front are
// unknown.
func sameRows(a, b [][]float64) bool {
	known := func(v []float64) []float64 {
		for len(v) > 0 && math.IsNaN(v[0]) {
			v = v[1:]
		}
		return v
	}
	return slices.EqualFunc(a, b, func(a, b []float64) bool {
		return slices.EqualFunc(known(a), known(b), func(x, y float64) bool {
			return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
		})
	})
}
