package core

import "github.com/rondo-db/rondo/rra"

// maxSubs bounds the sub-blocks of a slot: a checkpoint merges them long before.
const maxSubs = 1 << 8

// valid says whether what decodeState has read can be worked with: a database may come from anywhere.
func (g *group) valid(s *Store) bool {
	for _, tag := range g.ctxTag[:g.n*g.c.sources] {
		if tag >= uint8(rra.TagText) {
			return false
		}
	}
	for i := range g.n {
		if g.alive(i) && !g.validSeries(s, i) {
			return false
		}
	}
	for i := range g.texts {
		if !g.alive(i) {
			return false
		}
	}
	for i, h := range g.held {
		if !g.alive(i) || !h.valid(g.c) {
			return false
		}
	}
	return g.dir.valid(g.n)
}

// validSeries checks a state against its definition, if that is known: one that
// a crash kept out of the catalogue comes with the log.
func (g *group) validSeries(s *Store, i int) bool {
	id := g.defs[i]
	if id == 0 || int(id) > len(*s.catalogue.defs.Load()) {
		return id != 0
	}
	d := s.definition(id)
	if d.class != g.c {
		return false
	}
	st := g.state(i)
	if d.m.Check(&st) != nil || d.m.LastUpdate(st.W) > maxTime {
		return false
	}
	g.setText(i, st.Text)
	return true
}

func (h *heldSamples) valid(c *class) bool {
	for i := range h.samples {
		x := &h.samples[i]
		if i > 0 && x.at <= h.samples[i-1].at || x.at > maxTime || x.at < -maxTime || len(x.values) > c.sources {
			return false
		}
		for _, v := range x.values {
			if v.Tag > rra.TagInvalid || v.Tag >= rra.TagText && v.Bits >= uint64(len(x.texts)) {
				return false
			}
		}
	}
	return len(h.samples) > 0
}

func (d *directory) valid(n int) bool {
	for _, entries := range d.slots {
		for i, e := range entries {
			if e.lo >= e.hi || e.hi-e.lo > maxSubs || i > 0 && e.slot <= entries[i-1].slot {
				return false
			}
		}
	}
	for i, index := range d.lags {
		if int(index) >= n || i > 0 && index <= d.lags[i-1] {
			return false
		}
	}
	return true
}
