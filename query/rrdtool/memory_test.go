package rrdtool_test

import (
	"context"
	"iter"
	"math"
	"path"
	"sort"
	"strings"

	"github.com/rondo-db/rondo/engine"
	"github.com/rondo-db/rondo/rra"
)

// memory is a store with nothing but package rra under it.
type memory struct {
	series []*memorySeries // by Ref-1
	paths  map[string]engine.Ref
}

type memorySeries struct {
	engine.Series
	m     *rra.Machine
	state rra.State
	rows  []map[rowKey]float64 // by stream
}

type rowKey struct {
	k  int64
	ds int32
}

func newMemory() *memory { return &memory{paths: make(map[string]engine.Ref)} }

func (s *memory) Create(_ context.Context, spec engine.Spec) (engine.Ref, error) {
	p := path.Clean(spec.Path)
	if ref, ok := s.paths[p]; ok && !spec.Overwrite {
		return ref, engine.ErrExists
	}
	m, err := rra.Compile(spec.Definition)
	if err != nil {
		return 0, err
	}
	series := &memorySeries{m: m, state: m.NewState(spec.Start), rows: make([]map[rowKey]float64, len(m.Streams()))}
	for i := range series.rows {
		series.rows[i] = make(map[rowKey]float64)
	}
	s.series = append(s.series, series)
	ref := engine.Ref(len(s.series))
	series.Series = engine.Series{Ref: ref, Path: p, Definition: spec.Definition}
	s.paths[p] = ref
	return ref, nil
}

func (s *memory) Lookup(p string) (engine.Ref, error) {
	for _, p := range []string{p, p + ".rrd", strings.TrimSuffix(p, ".rrd")} {
		if ref, ok := s.paths[p]; ok {
			return ref, nil
		}
	}
	return 0, engine.ErrNotFound
}

func (s *memory) Series(ref engine.Ref) (engine.Series, error) { return s.series[ref-1].Series, nil }

func (s *memory) Update(_ context.Context, ref engine.Ref, b *engine.Batch, name string, _ bool) (n int, _ [][]rra.Run, err error) {
	series := s.series[ref-1]
	defer series.m.EndUpdate(&series.state, rra.NameHash(name))
	for sample := range b.All() {
		runs, err := series.m.Step(&series.state, sample.At, sample.Values, sample.Texts, nil)
		if _, late := err.(*rra.TimeError); late && b.SkipPast {
			continue
		}
		if err != nil {
			return n, nil, err
		}
		n++
		for _, r := range runs {
			for k := max(r.First, r.First+r.Count-series.m.Streams()[r.Stream].Rows); k < r.First+r.Count; k++ {
				series.rows[r.Stream][rowKey{k, r.DS}] = r.Value
			}
		}
	}
	return n, nil, nil
}

func (s *memory) Info(ref engine.Ref) (engine.Info, error) {
	series := s.series[ref-1]
	return engine.Info{Series: series.Series, Machine: series.m, State: series.state.Clone()}, nil
}

func (s *memory) Last(ref engine.Ref) (rra.Time, error) {
	series := s.series[ref-1]
	return series.m.LastUpdate(series.state.W), nil
}

func (s *memory) Fetch(_ context.Context, ref engine.Ref, archive int, start, end int64) (engine.Rows, error) {
	series := s.series[ref-1]
	a := &series.Definition.Archives[archive]
	step := series.Definition.Step * a.PDPs
	out := engine.Rows{Start: start, End: end, Step: step}
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

func (s *memory) List(_ context.Context, prefix, after string) iter.Seq2[engine.Series, error] {
	return func(yield func(engine.Series, error) bool) {
		var paths []string
		for p := range s.paths {
			if strings.HasPrefix(p, prefix) && p > after {
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
