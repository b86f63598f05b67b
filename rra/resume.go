package rra

import "math"

// Resume is Step for a series whose state was lost: s is a new one (Init) that began at the last
// time known of the series, and what came between that and the reading at hand is not known. Rows
// of which a part may be lost are unknown, whatever xff allows: what is left of them would make
// another number. The first reading says nothing of the time before it, and is the last reading of
// the next.
//
// Done says that nothing lost is in the PDP that is open, and Step goes on from here. Until then
// each further reading is one for Resume. With an error s is as it was.
func (m *Machine) Resume(s *State, at Time, values []Value, texts []string, out []Run) (runs []Run, done bool, err error) {
	first := !m.lostPDP(s.W)
	last := m.LastUpdate(s.W)
	from := last.Unix() / m.step
	// Step ends the open PDP alone, before the further ones that a reading ends. Where less than a
	// second of it is left, all of them have one value.
	joined := last.Unix()%m.step == m.step-1 && last.Micro() != 0
	next := s.Clone()
	n := len(out)
	if out, err = m.Step(&next, at, values, texts, out); err != nil {
		return out[:n], false, err
	}
	if first {
		read := next
		next = s.Clone()
		m.loseOpen(next.W)
		m.loseRows(next.W, withinRow)
		if out, err = m.Step(&next, at, make([]Value, len(values)), nil, out[:n]); err != nil {
			return out[:n], false, err
		}
		m.keepReadings(&next, &read)
	}
	to := at.Unix() / m.step
	edge := Seconds(to*m.step) == at
	for i := range out[n:] {
		// A COMPUTE may make a number of an unknown PDP.
		r := &out[n+i]
		if first || joined || m.streams[r.Stream].PDPs == 1 && r.First == from+1 {
			r.Value = math.NaN()
		}
	}
	switch {
	case first && !edge:
		m.loseOpen(next.W)
		m.loseRows(next.W, withinRow)
	case first || joined && to > from:
		m.loseRows(next.W, to)
		done = true
	default:
		done = to > from
	}
	copy(s.W, next.W)
	s.Text = next.Text
	return out, done, nil
}

// lostPDP says whether a part of the open PDP is lost.
func (m *Machine) lostPDP(w []uint64) bool { return m.ds(w, 0)[dsMeta]>>8 == maxUnknownSec }

// loseOpen makes the PDP that is open unknown.
func (m *Machine) loseOpen(w []uint64) {
	for d := range m.sources {
		ds := m.ds(w, d)
		ds[dsMeta] = moreUnknownSec(ds[dsMeta], maxUnknownSec)
	}
}

// loseRows makes the rows that are open unknown after pdps PDPs since 1970, but those that begin
// there. Rows of one PDP are not open.
func (m *Machine) loseRows(w []uint64, pdps int64) {
	for i := range m.archives {
		a := &m.archives[i]
		if !a.cf.classical() || a.n == 1 || pdps%a.n == 0 {
			continue
		}
		for d := range m.sources {
			c := &w[a.off+cdpWords*d+cdpMeta]
			*c = moreUnknownPDPs(*c, maxUnknownPDPs)
		}
	}
}

// withinRow is a number of PDPs at which no row of several PDPs begins.
const withinRow = 1

// keepReadings makes the last readings of from those of s.
func (m *Machine) keepReadings(s, from *State) {
	for d := range m.sources {
		ds, of := m.ds(s.W, d), m.ds(from.W, d)
		ds[dsBits] = of[dsBits]
		ds[dsMeta] = ds[dsMeta]&^0xff | of[dsMeta]&0xff
	}
	s.Text = from.Text
}
