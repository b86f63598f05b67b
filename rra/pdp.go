package rra

import (
	"math"
	"slices"
	"strings"
)

// scratch is how many data sources a step handles without an allocation.
const scratch = 16

// Step folds one reading of every data source that is not COMPUTE, in their order, into s. It
// appends the rows that end to out, unknown rows included. Values of TagText and TagInvalid refer
// to texts. Step keeps neither values nor texts.
//
// If the error is a *TimeError or a *CountError, s has not changed. If it is a *ValueError, s has
// changed as rrdtool changes it.
func (m *Machine) Step(s *State, at Time, values []Value, texts []string, out []Run) ([]Run, error) {
	last := Time(s.W[wordLast])
	if at <= last {
		return out, &TimeError{At: at, Last: last}
	}
	if len(values) != m.inputs {
		return out, &CountError{Got: len(values), Want: m.inputs}
	}
	var buf [2 * scratch]float64
	all := buf[:]
	if len(m.sources) > scratch {
		all = make([]float64, 2*len(m.sources))
	}
	amounts, pdp := all[:len(m.sources)], all[len(m.sources):2*len(m.sources)]

	from, to := last.Unix(), at.Unix()
	fromMicro := last.Micro()
	iv := float64(to-from) + float64(at.Micro()-fromMicro)/1e6
	if err := m.read(s, values, texts, iv, amounts); err != nil {
		return out, err
	}
	first := from / m.step
	elapsed := to/m.step - first
	if elapsed == 0 {
		m.gather(s.W, amounts, iv)
	} else {
		rest := to % m.step
		pre := float64(to-rest-from) - float64(fromMicro)/1e6
		post := float64(rest) + float64(at.Micro())/1e6
		closed, err := m.close(s.W, amounts, pdp, first, elapsed, iv, pre, post, out)
		if err != nil {
			return out, err
		}
		out = closed
	}
	s.W[wordLast] = uint64(at)
	return out, nil
}

// read takes the readings. amounts gets what each adds to the open PDP: rate times seconds, or NaN
// if it is unknown.
func (m *Machine) read(s *State, values []Value, texts []string, iv float64, amounts []float64) error {
	defer s.dropTexts()
	for i := range m.sources {
		v := Unknown
		if !m.sources[i].compute {
			v, values = values[0], values[1:]
		}
		n, err := m.reading(s, i, v, texts, iv)
		if err != nil {
			return err
		}
		amounts[i] = n
	}
	return nil
}

// dropTexts drops the texts if all are empty.
func (s *State) dropTexts() {
	if !slices.ContainsFunc(s.Text, func(t string) bool { return t != "" }) {
		s.Text = nil
	}
}

// gather adds the readings to the open PDP, which stays open.
func (m *Machine) gather(w []uint64, amounts []float64, iv float64) {
	for i, n := range amounts {
		ds := m.ds(w, i)
		if math.IsNaN(n) {
			ds[dsMeta] = moreUnknownSec(ds[dsMeta], uint64(math.Floor(iv)))
			continue
		}
		val := math.Float64frombits(ds[dsValue])
		if math.IsNaN(val) {
			val = n
		} else {
			val += n
		}
		ds[dsValue] = math.Float64bits(val)
	}
}

// close ends the open PDP and elapsed-1 more, all with the same value. The reading covers pre
// seconds of them and post seconds of the PDP that is open afterwards. If more than one PDP ends,
// the open one is first closed alone, with its share of the reading.
//
// The error says that a COMPUTE expression cannot be evaluated. As in rrdtool, the data sources
// before it have closed their PDPs then, and nothing else has changed. If a PDP was closed alone
// before, its rows are already out; then there is no error, and the value is unknown.
func (m *Machine) close(w []uint64, amounts, pdp []float64, first, elapsed int64, iv, pre, post float64, out []Run) ([]Run, error) {
	alone := false
	if elapsed > 1 {
		if share := int64(pre) % m.step; share > 0 {
			left := float64(share)
			for i, n := range amounts {
				part := float64(n*left) / iv
				amounts[i] = n - part
				v, err := m.closeOne(w, i, part, left, left, 0, 1, pdp[:i])
				if err != nil {
					return out, err
				}
				pdp[i] = v
			}
			out = m.consolidate(w, pdp, first, 1, out)
			iv -= left
			pre -= left
			elapsed--
			first++
			alone = true
		}
	}
	for i, n := range amounts {
		v, err := m.closeOne(w, i, n, iv, pre, post, elapsed, pdp[:i])
		switch {
		case err != nil && !alone:
			return out, err
		case err != nil:
			m.closePDP(w, i, n, iv, pre, post, elapsed)
		}
		pdp[i] = v
	}
	return m.consolidate(w, pdp, first, elapsed, out), nil
}

// closeOne closes the PDPs of data source i. before are the PDPs of the data sources before it. A
// COMPUTE source that cannot be evaluated does not change.
func (m *Machine) closeOne(w []uint64, i int, n, iv, pre, post float64, elapsed int64, before []float64) (float64, error) {
	if !m.sources[i].compute {
		return m.closePDP(w, i, n, iv, pre, post, elapsed), nil
	}
	v, err := m.sources[i].eval(before)
	if err != nil {
		return math.NaN(), &ValueError{DS: i, Name: m.def.Sources[i].Name, Err: err}
	}
	m.closePDP(w, i, n, iv, pre, post, elapsed)
	return v, nil
}

// closePDP returns the value of the elapsed PDPs of data source i that end, and begins the next PDP
// with post seconds of the reading.
func (m *Machine) closePDP(w []uint64, i int, n, iv, pre, post float64, elapsed int64) float64 {
	ds := m.ds(w, i)
	val := math.Float64frombits(ds[dsValue])
	unknown := int64(ds[dsMeta] >> 8)
	preUnknown := 0.0
	known := !math.IsNaN(n)
	if known {
		if math.IsNaN(val) {
			val = 0
		}
		val += float64(n / iv * pre)
	} else {
		preUnknown = pre
	}
	pdp := math.NaN()
	if !(iv > m.sources[i].heartbeat) && unknown <= m.step/2 {
		pdp = val / (float64(elapsed*m.step-unknown) - preUnknown)
	}
	if known {
		unknown = 0
		val = float64(n / iv * post)
	} else {
		unknown = int64(math.Floor(post))
		val = math.NaN()
	}
	ds[dsValue] = math.Float64bits(val)
	ds[dsMeta] = uint64(unknown)<<8 | ds[dsMeta]&0xff
	return pdp
}

// reading replaces the last reading of data source i, and returns what it adds to the open PDP:
// rate times seconds, or NaN if the reading is unknown, its rate is outside the limits, or the
// heartbeat has passed.
func (m *Machine) reading(s *State, i int, v Value, texts []string, iv float64) (float64, error) {
	src := &m.sources[i]
	n := math.NaN()
	if !(src.heartbeat < iv) && v.Tag != TagUnknown && !startsUnknown(v, texts) {
		c := change{kind: src.kind, v: v, texts: texts}
		if c.old, c.oldText = m.LastValue(s, i); startsUnknown(c.old, c.oldText) {
			c.old = Unknown
		}
		var rate float64
		var err error
		if n, rate, err = c.amount(iv); err != nil {
			return 0, &ValueError{DS: i, Name: m.def.Sources[i].Name, Err: err}
		}
		if math.IsNaN(rate) || src.limited && (rate > src.max || rate < src.min) {
			n = math.NaN()
		}
	}
	m.keep(s, i, v, texts)
	return n, nil
}

// startsUnknown reports whether v is a text that rrdtool treats as unknown: one that begins with U.
func startsUnknown(v Value, texts []string) bool {
	if v.Tag != TagText && v.Tag != TagInvalid {
		return false
	}
	text := readingText(v, texts)
	return text != "" && text[0] == 'U'
}

// keep makes v the last reading of data source i.
func (m *Machine) keep(s *State, i int, v Value, texts []string) {
	ds := m.ds(s.W, i)
	text := ""
	switch v.Tag {
	case TagText, TagInvalid:
		text = strings.Clone(cutReading(readingText(v, texts)))
		v = Value{Tag: TagText}
		if len(s.Text) == 0 {
			s.Text = make([]string, len(m.sources))
		}
	case TagUnknown:
		v.Bits = 0
	}
	if len(s.Text) != 0 {
		s.Text[i] = text
	}
	ds[dsBits] = v.Bits
	ds[dsMeta] = ds[dsMeta]&^0xff | uint64(v.Tag)
}
