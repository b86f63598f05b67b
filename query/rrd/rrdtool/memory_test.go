package rrdtool_test

import (
	"context"
	"iter"
	"math"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// memory is a store with nothing but package rra under it.
type memory struct {
	series []*memorySeries // by Ref-1
	paths  map[string]core.Ref
}

type memorySeries struct {
	core.Series
	m     *rra.Machine
	state rra.State
	rows  []map[rowKey]float64 // by stream
}

type rowKey struct {
	k  int64
	ds int32
}

func newMemory() *memory { return &memory{paths: make(map[string]core.Ref)} }

func (s *memory) Create(_ context.Context, spec core.Spec) (core.Ref, error) {
	p := path.Clean(spec.Path)
	if ref, ok := s.paths[p]; ok && !spec.Overwrite {
		return ref, core.ErrExists
	}
	m, err := rra.Compile(spec.Definition)
	if err != nil {
		return 0, err
	}
	series := &memorySeries{m: m, state: m.NewState(spec.Start), rows: make([]map[rowKey]float64, len(m.Streams()))}
	hash := spec.SmoothHash
	if hash == 0 {
		hash = rra.NameHash(p)
	}
	m.SmoothBy(series.state.W, hash)
	for i := range series.rows {
		series.rows[i] = make(map[rowKey]float64)
	}
	if spec.Copy != nil {
		series.fill(spec.Copy)
	}
	s.series = append(s.series, series)
	ref := core.Ref(len(s.series))
	series.Series = core.Series{Ref: ref, Path: p, Definition: spec.Definition}
	s.paths[p] = ref
	return ref, nil
}

func (s *memory) Lookup(p string) (core.Ref, error) {
	for _, p := range []string{p, p + ".rrd", strings.TrimSuffix(p, ".rrd")} {
		if ref, ok := s.paths[p]; ok {
			return ref, nil
		}
	}
	return 0, core.ErrNotFound
}

func (s *memory) Series(ref core.Ref) (core.Series, error) { return s.series[ref-1].Series, nil }

func (s *memory) Update(_ context.Context, ref core.Ref, b *core.Batch) (n int, err error) {
	series := s.series[ref-1]
	defer func() {
		if err != nil || b.Stopped {
			series.m.AbortUpdate(&series.state)
			return
		}
		series.m.EndUpdate(&series.state)
	}()
	for sample := range b.All() {
		runs, err := series.m.Step(&series.state, sample.At, sample.Values, sample.Texts, nil)
		if _, late := err.(*rra.TimeError); late && b.SkipPast {
			continue
		}
		if err != nil {
			return n, err
		}
		n++
		for _, r := range runs {
			for k := max(r.First, r.First+r.Count-series.m.Streams()[r.Stream].Rows); k < r.First+r.Count; k++ {
				series.rows[r.Stream][rowKey{k, r.DS}] = r.Value
			}
		}
	}
	return n, nil
}

func (s *memory) Alter(ctx context.Context, p string, change func(core.Copy) (core.Copy, error)) (core.Ref, error) {
	ref, err := s.Lookup(p)
	if err != nil {
		return 0, err
	}
	old := s.series[ref-1]
	c := core.Copy{Path: old.Path, Definition: old.Definition, State: old.state.Clone()}
	last := old.m.LastUpdate(old.state.W).Unix()
	for i := range old.Definition.Archives {
		a := &old.Definition.Archives[i]
		span := a.PDPs * old.Definition.Step
		end := last - last%span
		rows, err := s.Fetch(ctx, ref, i, end-a.Rows*span, end)
		if err != nil {
			return 0, err
		}
		c.Rows = append(c.Rows, rows.Values)
	}
	if c, err = change(c); err != nil {
		return 0, err
	}
	d := *c.Definition
	d.Archives = slices.Clone(d.Archives)
	for i := range d.Archives { // rows that differ need streams of their own
		d.Archives[i].Own = d.Archives[i].CF <= rra.Last && d.Archives[i].PDPs == 1
	}
	m, err := rra.Compile(&d)
	if err != nil {
		return 0, err
	}
	if c.State, err = importOwn(c, m); err != nil {
		return 0, err
	}
	next := &memorySeries{Series: core.Series{Ref: ref, Path: old.Path, Definition: &d}, m: m, state: c.State}
	next.rows = make([]map[rowKey]float64, len(m.Streams()))
	for i := range next.rows {
		next.rows[i] = make(map[rowKey]float64)
	}
	for i := range d.Archives {
		span := d.Archives[i].PDPs * d.Step
		n := len(c.Rows[i]) / len(d.Sources)
		for j, v := range c.Rows[i] {
			if stream := m.StreamOf(i); stream >= 0 {
				next.rows[stream][rowKey{last/span - int64(n-1-j/len(d.Sources)), int32(j % len(d.Sources))}] = v
			}
		}
	}
	s.series[ref-1] = next
	return ref, nil
}

// importOwn is the state of c in a machine whose archives have rows of their own.
func importOwn(c core.Copy, m *rra.Machine) (rra.State, error) {
	shared, err := rra.Compile(c.Definition)
	if err != nil {
		return rra.State{}, err
	}
	return m.Import(shared.Snapshot(&c.State))
}

func (s *memory) Info(ref core.Ref) (core.Info, error) {
	series := s.series[ref-1]
	return core.Info{Series: series.Series, Machine: series.m, State: series.state.Clone()}, nil
}

func (s *memory) Last(ref core.Ref) (rra.Time, error) {
	series := s.series[ref-1]
	return series.m.LastUpdate(series.state.W), nil
}

func (s *memory) Fetch(_ context.Context, ref core.Ref, archive int, start, end int64) (core.Rows, error) {
	series := s.series[ref-1]
	a := &series.Definition.Archives[archive]
	step := series.Definition.Step * a.PDPs
	out := core.Rows{Start: start, End: end, Step: step}
	newest := series.m.LastUpdate(series.state.W).Unix() / step
	stream := series.m.StreamOf(archive)
	for ds := range series.Definition.Sources {
		out.DS = append(out.DS, series.Definition.Sources[ds].Name)
	}
	for k := start/step + 1; k <= end/step; k++ {
		for ds := range series.Definition.Sources {
			v, ok := math.NaN(), false
			if stream >= 0 {
				v, ok = series.rows[stream][rowKey{k, int32(ds)}]
			} else if i := a.Rows - 1 - (newest - k); i >= 0 && i < a.Rows {
				v, ok = series.m.RingRow(&series.state, archive, ds, nil)[i], true
			}
			if !ok {
				v = math.NaN()
			}
			out.Values = append(out.Values, v)
		}
	}
	return out, nil
}

func (s *memory) Select(_ context.Context, q core.Query) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		var paths []string
		for p := range s.paths {
			if strings.HasPrefix(p, q.Prefix) && p > q.After {
				paths = append(paths, p)
			}
		}
		sort.Strings(paths)
		for _, p := range paths {
			if !yield(s.series[s.paths[p]-1].Series, nil) {
				return
			}
		}
	}
}

func (s *memory) Export(ctx context.Context, ref core.Ref) (core.Copy, error) {
	series := s.series[ref-1]
	d := series.Definition
	c := core.Copy{Path: series.Path, Definition: d, State: series.state.Clone(), Rows: make([][]float64, len(d.Archives))}
	last := series.m.LastUpdate(series.state.W).Unix()
	for i := range d.Archives {
		if series.m.StreamOf(i) < 0 {
			continue
		}
		step := d.Step * d.Archives[i].PDPs
		end := last - last%step
		rows, err := s.Fetch(ctx, ref, i, end-d.Archives[i].Rows*step, end)
		if err != nil {
			return core.Copy{}, err
		}
		c.Rows[i] = rows.Values
	}
	return c, nil
}

// fill gives a series the state and the rows of a copy.
func (s *memorySeries) fill(c *core.Copy) {
	s.state = c.State.Clone()
	sources := len(c.Definition.Sources)
	for i := range c.Definition.Archives {
		stream := s.m.StreamOf(i)
		if stream < 0 {
			continue
		}
		k := s.m.LastUpdate(s.state.W).Unix() / (c.Definition.Step * c.Definition.Archives[i].PDPs)
		first := k - int64(len(c.Rows[i])/sources) + 1
		for j, v := range c.Rows[i] {
			s.rows[stream][rowKey{first + int64(j/sources), int32(j % sources)}] = v
		}
	}
}
