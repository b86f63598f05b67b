package core

import (
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// The reorder window is measured in sample time, not by a clock: a sample is
// held until a later one of its series is a window ahead. Held samples are part
// of the state.

// maxHeld bounds the samples held for one series; the oldest go on when it is reached.
const maxHeld = 4096

type heldSample struct {
	at     rra.Time
	values []rra.Value
	texts  []string
}

// A heldSamples is the samples of one series that wait, in order of time.
type heldSamples struct {
	samples []heldSample
}

// hold takes a sample into the window of a series and applies those that leave it.
func (s *Store) hold(sh *shard, g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) error {
	w := g.c.words
	last := d.m.LastUpdate(g.words[index*w : (index+1)*w])
	if at <= last {
		return &rra.TimeError{At: at, Last: last}
	}
	h := g.held[index]
	if h == nil {
		if g.held == nil {
			g.held = make(map[int]*heldSamples)
		}
		h = &heldSamples{}
		g.held[index] = h
	}
	i, found := slices.BinarySearchFunc(h.samples, at, func(a heldSample, t rra.Time) int {
		return int(min(max(a.at-t, -1), 1))
	})
	if found {
		return &rra.TimeError{At: at, Last: at}
	}
	x := heldSample{at: at, values: slices.Clone(values)}
	for j := range x.values {
		if v := &x.values[j]; v.Tag == rra.TagText || v.Tag == rra.TagInvalid {
			x.texts = append(x.texts, texts[v.Bits])
			v.Bits = uint64(len(x.texts) - 1)
		}
	}
	h.samples = slices.Insert(h.samples, i, x)
	s.heldCount.Add(1)
	s.memory.Count(x.size())
	until := h.samples[len(h.samples)-1].at - sh.reorder
	if len(h.samples) > maxHeld {
		until = max(until, h.samples[0].at)
	}
	s.let(sh, g, d, index, h, until)
	return nil
}

// let applies the held samples up to and including the time until.
func (s *Store) let(sh *shard, g *group, d *definition, index int, h *heldSamples, until rra.Time) {
	n := 0
	for n < len(h.samples) && h.samples[n].at <= until {
		x := &h.samples[n]
		// A reading that does not parse was accepted when it came: there is nobody left to tell.
		_ = s.step(sh, g, d, index, x.at, x.values, x.texts, nil)
		s.memory.Count(-x.size())
		n++
	}
	s.heldCount.Add(int64(-n))
	h.samples = slices.Delete(h.samples, 0, n)
	if len(h.samples) == 0 {
		delete(g.held, index)
	}
}

// size is what a held sample takes of the memory budget, about.
func (x *heldSample) size() int64 {
	n := 80 + 16*len(x.values)
	for _, t := range x.texts {
		n += 16 + len(t)
	}
	return int64(n)
}

// size is the sum of its samples'.
func (h *heldSamples) size() (n int64) {
	for i := range h.samples {
		n += h.samples[i].size()
	}
	return n
}

// forget ends the held samples of a series that ends.
func (g *group) forget(s *Store, index int) {
	if h := g.held[index]; h != nil {
		s.heldCount.Add(-int64(len(h.samples)))
		s.memory.Count(-h.size())
		delete(g.held, index)
	}
}

// release lets all held samples of a series go.
func (s *Store) release(sh *shard, g *group, index int) {
	h := g.held[index]
	if h == nil || g.usable(index) != nil {
		return
	}
	if d := s.definition(g.defs[index]); d != nil {
		s.let(sh, g, d, index, h, maxTime)
	}
}
