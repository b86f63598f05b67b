package rra

import "math"

// Resume is Step for a series whose state was lost. s is a new state (Init) that begins at the last
// time known of the series. Readings between that time and this reading may be lost. A row that
// they may have been part of is unknown, whatever xff allows, because the rest of it would give
// another number. The first reading only serves as the last reading for the next.
//
// done says that the open PDP contains no lost time: Step takes the next reading. Otherwise Resume
// must take it. If there is an error, s has not changed.
func (m *Machine) Resume(s *State, at Time, values []Value, texts []string, out []Run) (runs []Run, done bool, err error) {
	first := !m.lostPDP(s.W)
	last := m.LastUpdate(s.W)
	from := last.Unix() / m.step
	// Step closes the open PDP alone, before the further PDPs that the reading ends. But if less
	// than a second of it is left, Step closes all of them together, with one value.
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
		// A COMPUTE expression may turn an unknown PDP into a number.
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

// lostPDP reports whether a part of the open PDP is lost.
func (m *Machine) lostPDP(w []uint64) bool { return m.ds(w, 0)[dsMeta]>>8 == maxUnknownSec }

// loseOpen makes the open PDP unknown.
func (m *Machine) loseOpen(w []uint64) {
	for d := range m.sources {
		ds := m.ds(w, d)
		ds[dsMeta] = moreUnknownSec(ds[dsMeta], maxUnknownSec)
	}
}

// loseRows makes the open rows unknown, except those that begin after pdps PDPs since 1970. Rows of
// one PDP are never open.
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
