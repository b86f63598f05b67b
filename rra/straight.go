package rra

import (
	"math"
	"slices"
)

// The straight path is a fast version of Step for the common case: the series has neither COMPUTE
// nor Holt-Winters, the readings are numbers and no texts, the heartbeats are kept, and at most one
// PDP ends. It performs the floating-point operations of the general path in the same order, and
// leaves out everything else. TestStraight compares the two. A Stride takes the same path through
// several readings of a series.

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
		}
	}
	m.straight = len(m.sources) <= maxStraight && len(m.lanes) <= maxLanes && m.inputs == len(m.sources) && !m.family && m.own == nil
}

// stepStraight is Step for the common case, for series i of t: no COMPUTE, no archive of the
// Holt-Winters family, at most one PDP ends, readings that are numbers. In any other case it
// returns false and changes nothing. After a step the series has no last readings kept as text: the
// caller must drop State.Text. mo caches the times.
func (m *Machine) stepStraight(mo *moment, t Table, i int, at Time, values []Value, out []Run) ([]Run, bool) {
	if !m.straight || m.noStraight || len(values) != len(m.sources) {
		return out, false
	}
	w, n := t.W[i:], t.N
	if mo.at != at || mo.last != w[wordLast*n] || mo.shape != m.shape {
		mo.make(m, w[wordLast*n], at)
	}
	if !mo.ok {
		return out, false
	}
	var few [2]float64
	pdps := few[:]
	if len(values) > len(few) {
		var many [maxStraight]float64
		pdps = many[:]
	}
	pdps = pdps[:len(values)]
	for d := range values {
		ds := w[(wordSources+dsWords*d)*n:]
		amount, ok := m.sources[d].straight(ds[dsBits*n], ds[dsMeta*n], &values[d], mo.iv)
		if !ok {
			return out, false
		}
		pdps[d] = amount
	}
	w[wordLast*n] = uint64(mo.at)
	if mo.sec < mo.end {
		for d := range values {
			keepOpen(w[(wordSources+dsWords*d)*n:], n, &values[d], pdps[d], mo.iv)
		}
		return out, true
	}
	for d := range values {
		pdp := m.straightPDP(w[(wordSources+dsWords*d)*n:], n, &values[d], pdps[d], mo)
		if m.one != 0 {
			w[(m.one+oneWords*d+onePrimary)*n] = math.Float64bits(pdp)
			out = appendRow(out, m.oneID, int32(d), int64(mo.k), pdp)
		}
		pdps[d] = pdp
	}
	m.advancePairs(w, n, 1)
	return m.foldStraight(mo, w, n, pdps, out), true
}

// foldStraight folds a PDP of each data source into the lanes. Word j of the state stands at
// w[j*n].
func (m *Machine) foldStraight(mo *moment, w []uint64, n int, pdps []float64, out []Run) []Run {
	for i := range m.lanes {
		l := &m.lanes[i]
		closes := mo.closing>>i&1 != 0
		for d, pdp := range pdps {
			c := w[(l.off+cdpWords*d)*n:]
			if !closes {
				l.gatherOne(c, n, pdp)
				continue
			}
			x := [cdpWords]uint64{cdpValue: c[cdpValue*n], cdpMeta: c[cdpMeta*n]}
			l.finish(x[:], pdp, 1, 0)
			if d == 0 {
				l.advance(&x[cdpMeta])
			}
			c[cdpValue*n], c[cdpPrimary*n], c[cdpSecondary*n], c[cdpMeta*n] = x[cdpValue], x[cdpPrimary], x[cdpSecondary], x[cdpMeta]
			out = appendRow(out, l.stream, int32(d), int64(mo.k/uint64(l.n)), math.Float64frombits(x[cdpPrimary]))
		}
	}
	return out
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
		if n, ok = v.plainNumber(); !ok {
			return 0, false
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

// plainNumber returns a reading of a GAUGE or an ABSOLUTE as a double. ok is false if it needs the
// general path.
func (v *Value) plainNumber() (x float64, ok bool) {
	switch {
	case v.Tag == TagFloat:
		return math.Float64frombits(v.Bits), true
	case isDecimal(*v):
		return decimalNumber(*v), true
	case v.Tag == TagInt && v.Bits+1<<53 > 1<<54, v.Tag == TagUint && v.Bits > 1<<53, v.Tag > TagFloat, v.Tag == TagUnknown:
		return 0, false
	}
	return float64(int64(v.Bits)), true
}

// keepOpen does what Machine.gather and Machine.keep do for a PDP that stays open. The words of the
// data source lie step apart in ds.
func keepOpen(ds []uint64, step int, v *Value, n, iv float64) {
	ds[dsBits*step] = v.Bits
	meta := ds[dsMeta*step]&^0xff | uint64(v.Tag)
	if n != n {
		ds[dsMeta*step] = moreUnknownSec(meta, uint64(iv)) // cut to whole seconds, as rrdtool does
		return
	}
	ds[dsMeta*step] = meta
	if val := math.Float64frombits(ds[dsValue*step]); val == val {
		n += val
	}
	ds[dsValue*step] = math.Float64bits(n)
}

// straightPDP does what closePDP and keep do, for one PDP. The words of the data source lie step
// apart in ds.
func (m *Machine) straightPDP(ds []uint64, step int, v *Value, n float64, mo *moment) float64 {
	val := math.Float64frombits(ds[dsValue*step])
	unknown := int64(ds[dsMeta*step] >> 8)
	ds[dsBits*step] = v.Bits
	pdp := math.NaN()
	if n != n {
		if unknown <= m.step/2 {
			pdp = val / (float64(m.step-unknown) - mo.pre)
		}
		ds[dsValue*step] = nanBits
		ds[dsMeta*step] = uint64(mo.post)<<8 | uint64(v.Tag)
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
	ds[dsValue*step] = math.Float64bits(float64(rate * mo.post))
	ds[dsMeta*step] = uint64(v.Tag)
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
