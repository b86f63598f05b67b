package enginebench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/rondo-db/rondo/rra"
)

// verify compares every row of every archive of n series drawn at random with what
// package rra makes of the readings when they are made again and stepped one by one.
// It returns the number of values that were compared. readings says how many readings a host got.
func (l *load) verify(ctx context.Context, n int, readings func(h int) int) (rows int64, err error) {
	rnd := rand.New(rand.NewPCG(l.gen.seed, 2))
	for range n {
		h, i := rnd.IntN(l.gen.Hosts()), rnd.IntN(l.gen.HostSeries())
		m, err := l.verifySeries(ctx, h, i, readings(h))
		if err != nil {
			return rows, fmt.Errorf("bench: verify series %d of host %d: %w", i, h, err)
		}
		rows += m
	}
	return rows, nil
}

func (l *load) verifySeries(ctx context.Context, h, i, readings int) (rows int64, err error) {
	spec := l.gen.Spec(h, i)
	want, err := replay(l.gen.seed, l.gen.layout, h, i, readings)
	if err != nil {
		return 0, err
	}
	ref := l.refs[h*l.gen.HostSeries()+i]
	at, err := l.store.Last(ref)
	if err != nil {
		return 0, err
	}
	last := l.gen.At(h, readings-1)
	if at != last {
		return 0, fmt.Errorf("last update %d, want %d", at, last)
	}
	for a, archive := range spec.Definition.Archives {
		width := archive.PDPs * step
		end := last.Unix() / width * width
		got, err := l.store.Fetch(ctx, ref, a, end-archive.Rows*width, end)
		if err != nil {
			return rows, err
		}
		sources := int64(l.gen.Sources())
		if n := int64(len(got.Values)); got.End != end || n != archive.Rows*sources {
			return rows, fmt.Errorf("archive %d: %d values to %d, want %d to %d", a, n, got.End, archive.Rows*sources, end)
		}
		for k, v := range got.Values {
			at := cellOf{row: got.Start/width + int64(k)/sources + 1, source: int32(int64(k) % sources)}
			w, ok := want[a][at]
			if !ok {
				w = math.NaN()
			}
			if math.Float64bits(v) != math.Float64bits(w) && !(v != v && w != w) {
				return rows, fmt.Errorf("archive %d, data source %d, row ending at %d: %v, want %v", a, at.source, at.row*width, v, w)
			}
			rows++
		}
	}
	return rows, nil
}

// A cellOf is the place of a value in an archive: the number of its row, and its data source.
type cellOf struct {
	row    int64
	source int32
}

// replay returns the values of each archive of a series, as rra alone makes them.
func replay(seed uint64, layout Layout, h, i, readings int) ([]map[cellOf]float64, error) {
	g := newHostGenerator(seed, layout, h)
	spec := g.spec(h, i, g.Start(0))
	m, err := rra.Compile(spec.Definition)
	if err != nil {
		return nil, err
	}
	state := rra.State{W: make([]uint64, m.Words())}
	m.Init(state.W, spec.Start)
	streams := make([]map[cellOf]float64, len(m.Streams()))
	for s := range streams {
		streams[s] = map[cellOf]float64{}
	}
	var values [HostReadings]rra.Value
	var runs []rra.Run
	for k := range readings {
		g.Next(0, values[:])
		runs, err = m.Step(&state, g.At(0, k), values[i*layout.Sources:][:layout.Sources], nil, runs[:0])
		if err != nil {
			return nil, fmt.Errorf("reading %d: %w", k, err)
		}
		for _, r := range runs {
			for row := r.First; row < r.First+r.Count; row++ {
				streams[r.Stream][cellOf{row, r.DS}] = r.Value
			}
		}
	}
	archives := make([]map[cellOf]float64, len(spec.Definition.Archives))
	for a := range archives {
		archives[a] = streams[m.StreamOf(a)]
	}
	return archives, nil
}
