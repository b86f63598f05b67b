package core

import (
	"slices"

	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/rra"
)

// The reorder window puts samples that come out of order into order. It is measured in the time of
// the samples, not by a clock: a sample is held until a sample of the same series is a window ahead
// of it. Held samples are part of the state of their group.

// maxHeld bounds the samples held for one series. One more lets the oldest go.
const maxHeld = 4096

// hold takes a sample into the window of the series at an index, and applies those that leave it.
// The error is *rra.TimeError if the sample is late, or if one of its time is held already.
func (sh *shard) hold(g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) error {
	if last := g.lastUpdate(index); at <= last {
		return &rra.TimeError{At: at, Last: last}
	}
	h := g.held[index]
	if h == nil {
		if g.held == nil {
			g.held = make(map[int]*held.Samples)
		}
		h = &held.Samples{}
		g.held[index] = h
	}
	i, found := h.Find(at)
	if found {
		return &rra.TimeError{At: at, Last: at}
	}
	x := held.NewSample(at, values, texts)
	h.List = slices.Insert(h.List, i, x)
	g.c.space.held.Add(1)
	g.c.space.Count(x.Size())
	until := h.Newest() - sh.reorder
	if len(h.List) > maxHeld {
		until = max(until, h.List[0].At)
	}
	sh.applyHeld(g, d, index, h, until)
	return nil
}

// applyHeld applies the held samples up to and including the time until.
func (sh *shard) applyHeld(g *group, d *definition, index int, h *held.Samples, until rra.Time) {
	n := 0
	for n < len(h.List) && h.List[n].At <= until {
		x := &h.List[n]
		// A held reading that does not parse was accepted before: nobody waits for this error.
		_ = sh.step(g, d, index, x.At, x.Values, x.Texts)
		g.c.space.Count(-x.Size())
		n++
	}
	g.c.space.held.Add(int64(-n))
	h.List = slices.Delete(h.List, 0, n)
	if len(h.List) == 0 {
		delete(g.held, index)
	}
}

// applyAllHeld applies every held sample of the series at an index.
func (sh *shard) applyAllHeld(g *group, index int) {
	h := g.held[index]
	if h == nil || g.usable(index) != nil {
		return
	}
	if d := g.definition(index); d != nil {
		sh.applyHeld(g, d, index, h, MaxTime)
	}
}
