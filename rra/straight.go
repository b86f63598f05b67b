package rra

import (
	"math"
	"slices"
)

// The straight path is a fast version of Step for the common case: the series has neither COMPUTE
// nor Holt-Winters, the readings are numbers and no texts, the heartbeats are kept, and at most one
// PDP ends. It performs the floating-point operations of the general path in the same order, and
// leaves out everything else. TestStraight compares the two. A Block takes the same path for many
// series.

// maxStraight is how many data sources the straight path handles.
const maxStraight = 32

// prepare decides whether m may take the straight path, and fills in its pairs and lanes.
func (m *Machine) prepare() {
	m.stepMagic = reciprocal(m.step)
	ones := 0
	for i := range m.archives {
		a := &m.archives[i]
		switch {
		case !a.cf.classical():
		case a.n == 1:
			if ones%2 == 0 {
				m.pairs = append(m.pairs, rowPair{cur: a.cur, step: 1, low: uint32(a.rows), high: math.MaxUint32})
			} else {
				o := &m.pairs[len(m.pairs)-1]
				o.step, o.high = 1<<32+1, uint32(a.rows)
			}
			ones++
		default:
			m.lanes = append(m.lanes, lane{
				folding: a.folding, magic: reciprocal(a.n),
				off: a.off, rows: uint32(a.rows), stream: a.stream,
			})
			g := &m.gathers[a.cf]
			*g = append(*g, int32(a.off+cdpValue))
		}
	}
	m.straight = len(m.sources) <= maxStraight && len(m.lanes) <= maxLanes && m.inputs == len(m.sources) && !m.family && m.own == nil
}

// stepStraight is Step for the common case: no COMPUTE, no archive of the Holt-Winters family,
// at most one PDP ends, readings that are numbers. In any other case it returns false and changes
// nothing. After a step the state has no last readings kept as text: the caller must drop
// State.Text. mo caches the times.
func (m *Machine) stepStraight(mo *moment, w []uint64, at Time, values []Value, out []Run) ([]Run, bool) {
	if !m.straight || m.noStraight || len(values) != len(m.sources) {
		return out, false
	}
	if mo.at != at || mo.last != w[wordLast] || mo.m != m {
		mo.make(m, w[wordLast], at)
	}
	if !mo.ok {
		return out, false
	}
	if len(values) == 1 {
		return m.straightOne(mo, w, &values[0], out)
	}
	return m.straightMany(mo, w, values, out)
}

// straightOne is stepStraight for one data source.
func (m *Machine) straightOne(mo *moment, w []uint64, v *Value, out []Run) ([]Run, bool) {
	ds := w[wordSources : wordSources+dsWords]
	n, ok := m.sources[0].straight(ds[dsBits], ds[dsMeta], v, mo.iv)
	if !ok {
		return out, false
	}
	w[wordLast] = uint64(mo.at)
	if mo.sec < mo.end {
		keepOpen(ds, v, n, mo.iv)
		return out, true
	}
	pdp := m.straightPDP(ds, v, n, mo)
	if m.one != 0 {
		w[m.one+onePrimary] = math.Float64bits(pdp)
		out = appendRow(out, m.oneID, 0, int64(mo.k), pdp)
		m.advancePairs(w)
	}
	if mo.closing == 0 {
		m.gatherAll(w, pdp)
		return out, true
	}
	for i := range m.lanes {
		l := &m.lanes[i]
		c := w[l.off : l.off+cdpWords]
		if mo.closing>>i&1 == 0 {
			l.gatherOne(c, pdp)
			continue
		}
		l.finish(c, pdp, 1, 0)
		out = appendRow(out, l.stream, 0, int64(mo.k/uint64(l.n)), math.Float64frombits(c[cdpPrimary]))
		l.advance(&c[cdpMeta])
	}
	return out, true
}

// straightMany is stepStraight for several data sources.
func (m *Machine) straightMany(mo *moment, w []uint64, values []Value, out []Run) ([]Run, bool) {
	var buf [maxStraight]float64
	pdps := buf[:len(values)]
	for i := range values {
		ds := m.ds(w, i)
		n, ok := m.sources[i].straight(ds[dsBits], ds[dsMeta], &values[i], mo.iv)
		if !ok {
			return out, false
		}
		pdps[i] = n
	}
	w[wordLast] = uint64(mo.at)
	if mo.sec < mo.end {
		for i := range values {
			keepOpen(m.ds(w, i), &values[i], pdps[i], mo.iv)
		}
		return out, true
	}
	for i := range values {
		pdp := m.straightPDP(m.ds(w, i), &values[i], pdps[i], mo)
		if m.one != 0 {
			w[m.one+oneWords*i+onePrimary] = math.Float64bits(pdp)
			out = appendRow(out, m.oneID, int32(i), int64(mo.k), pdp)
		}
		pdps[i] = pdp
	}
	m.advancePairs(w)
	if mo.closing == 0 {
		for d, pdp := range pdps {
			m.gatherAll(w[cdpWords*d:], pdp)
		}
		return out, true
	}
	for i := range m.lanes {
		l := &m.lanes[i]
		closes := mo.closing>>i&1 != 0
		for d, pdp := range pdps {
			c := w[l.off+cdpWords*d : l.off+cdpWords*d+cdpWords]
			if !closes {
				l.gatherOne(c, pdp)
				continue
			}
			l.finish(c, pdp, 1, 0)
			out = appendRow(out, l.stream, int32(d), int64(mo.k/uint64(l.n)), math.Float64frombits(c[cdpPrimary]))
		}
		if closes {
			l.advance(&w[l.off+cdpMeta])
		}
	}
	return out, true
}

// straight returns what reading v adds to the open PDP over iv seconds: rate times seconds, or NaN
// if it is unknown. old and meta are the dsBits and dsMeta words of the reading before. ok is false
// if the reading needs the general path.
func (s *source) straight(old, meta uint64, v *Value, iv float64) (n float64, ok bool) {
	oldTag := Tag(meta)
	if s.heartbeat < iv {
		return 0, false
	}
	if v.Tag == TagUnknown {
		return math.NaN(), v.Bits == 0
	}
	var rate float64
	switch s.kind {
	case Gauge, Absolute:
		switch {
		case v.Tag == TagFloat:
			n = math.Float64frombits(v.Bits)
		case isDecimal(*v):
			n = decimalNumber(*v)
		case v.Tag == TagInt && v.Bits+1<<53 > 1<<54, v.Tag == TagUint && v.Bits > 1<<53, v.Tag > TagFloat:
			return 0, false
		default:
			n = float64(int64(v.Bits))
		}
		if s.kind == Absolute {
			rate = n / iv
		} else {
			rate = n
			n = float64(n * iv)
		}
	case Counter, Derive:
		// Both not negative, and less than 2^53 apart: the general path does the rest.
		if int64(v.Bits|old) < 0 || v.Tag > TagUint || oldTag > TagUint {
			return 0, false
		}
		if oldTag == TagUnknown {
			return math.NaN(), true
		}
		d := int64(v.Bits - old)
		if d+1<<53 < 0 || d > 1<<53 {
			return 0, false
		}
		n = float64(d)
		if d < 0 && s.kind == Counter {
			n = unwrap(n)
		}
		rate = n / iv
	default:
		return 0, false
	}
	if rate != rate || rate > s.max || rate < s.min {
		return math.NaN(), true
	}
	return n, true
}

// keepOpen does what Machine.gather and Machine.keep do for a PDP that stays open.
func keepOpen(ds []uint64, v *Value, n, iv float64) {
	ds[dsBits] = v.Bits
	meta := ds[dsMeta]&^0xff | uint64(v.Tag)
	if n != n {
		ds[dsMeta] = moreUnknownSec(meta, uint64(iv)) // cut to whole seconds, as rrdtool does
		return
	}
	ds[dsMeta] = meta
	if val := math.Float64frombits(ds[dsValue]); val == val {
		n += val
	}
	ds[dsValue] = math.Float64bits(n)
}

// straightPDP does what closePDP and keep do, for one PDP.
func (m *Machine) straightPDP(ds []uint64, v *Value, n float64, mo *moment) float64 {
	val := math.Float64frombits(ds[dsValue])
	unknown := int64(ds[dsMeta] >> 8)
	ds[dsBits] = v.Bits
	pdp := math.NaN()
	if n != n {
		if unknown <= m.step/2 {
			pdp = val / (float64(m.step-unknown) - mo.pre)
		}
		ds[dsValue] = nanBits
		ds[dsMeta] = uint64(mo.post)<<8 | uint64(v.Tag)
		return pdp
	}
	if val != val {
		val = 0
	}
	rate := n / mo.iv
	val += float64(rate * mo.pre)
	if unknown <= m.step/2 {
		pdp = val / float64(m.step-unknown)
	}
	ds[dsValue] = math.Float64bits(float64(rate * mo.post))
	ds[dsMeta] = uint64(v.Tag)
	return pdp
}

// appendRow appends one row. It sets the fields one by one, which is faster: copying a Run would
// read it back from memory, and the read would wait until all earlier stores to the state have left
// the processor's store buffer.
func appendRow(out []Run, stream, ds int32, k int64, v float64) []Run {
	n := len(out)
	if n == cap(out) {
		out = slices.Grow(out, 8)
	}
	out = out[:n+1]
	r := &out[n]
	r.Stream, r.DS = stream, ds
	r.First, r.Count = k, 1
	r.Value = v
	return out
}
