package rra

import (
	"math"
	"math/bits"
	"slices"
)

// The straight path is Step for what nearly every sample is: times on whole
// seconds, no COMPUTE and no Holt-Winters, numbers and not texts, heartbeats
// kept, and at most one PDP that ends. It does what the general path does with the
// same operations in the same order, without what the common case does not need;
// TestStraight holds the two against each other.

// maxStraight is how many data sources the straight path handles.
const maxStraight = 32

// A lane is an archive with several PDPs a row, as the straight path sees it.
type lane struct {
	folding
	magic  uint64 // 2^64/n rounded up: i is a multiple of n if i*magic < magic, for i below 2^32
	off    int
	rows   uint32
	stream int32
}

// A reciprocal divides by a constant: for i below 2^32 the high half of i*magic
// is i/d.
func reciprocal(d int64) uint64 { return ^uint64(0)/uint64(d) + 1 }

// prepare decides whether the straight path may be taken, and lays its lanes out.
func (m *Machine) prepare() {
	m.straight = len(m.sources) <= maxStraight && m.inputs == len(m.sources) && !m.family && m.own == nil
	m.stepMagic = reciprocal(m.step)
	for i := range m.archives {
		a := &m.archives[i]
		switch {
		case !a.cf.classical():
		case a.n == 1:
			m.ones = append(m.ones, one{cur: a.cur, shift: uint8(a.shift), rows: uint32(a.rows)})
		default:
			m.lanes = append(m.lanes, lane{
				folding: a.folding, magic: reciprocal(a.n),
				off: a.off, rows: uint32(a.rows), stream: a.stream,
			})
		}
	}
}

// A one is the current row of an archive of one PDP a row.
type one struct {
	rows  uint32
	cur   int
	shift uint8
}

// straightTimes takes the times of a step apart, in seconds: now, the last update, the end of the open
// PDP and the PDPs before it. It says whether the straight path can deal with them.
func (m *Machine) straightTimes(w []uint64, at Time) (sec, from, end, first uint64, ok bool) {
	last := w[wordLast]
	sec, from = uint64(at)/1e6, last/1e6
	if uint64(at) <= last || sec*1e6 != uint64(at) || from*1e6 != last || sec >= 1<<32 {
		return 0, 0, 0, 0, false
	}
	step := uint64(m.step)
	first = from
	if step > 1 {
		first, _ = bits.Mul64(from, m.stepMagic)
	}
	end = (first + 1) * step
	return sec, from, end, first, sec < end+step
}

// tryStraight is Step if the straight path applies; if not, it has changed nothing.
func (m *Machine) tryStraight(w []uint64, at Time, values []Value, out []Run) ([]Run, bool) {
	sec, from, end, first, ok := m.straightTimes(w, at)
	if !ok {
		return out, false
	}
	if len(values) == 1 && len(m.sources) == 1 {
		return m.straightOne(w, sec, from, end, first+1, &values[0], out)
	}
	if len(values) != len(m.sources) {
		return out, false
	}
	return m.straightMany(w, sec, from, end, first+1, values, out)
}

// straightOne is tryStraight for one data source, with the times in seconds; the
// open PDP, number k-1, ends at end.
func (m *Machine) straightOne(w []uint64, sec, from, end, k uint64, v *Value, out []Run) ([]Run, bool) {
	ds := w[wordSources : wordSources+dsWords]
	iv := float64(sec - from)
	n, ok := m.sources[0].straight(ds[dsBits], ds[dsMeta], v, iv)
	if !ok {
		return out, false
	}
	w[wordLast] = sec * 1e6
	if sec < end {
		keepOpen(ds, v, n, sec-from)
		return out, true
	}
	pdp := m.straightPDP(ds, v, n, iv, end-from, sec-end)
	if m.one != 0 {
		w[m.one+onePrimary] = math.Float64bits(pdp)
		out = appendRow(out, m.oneID, 0, int64(k), pdp)
		m.advanceOnes(w)
	}
	lanes := m.lanes
	for i := range lanes {
		l := &lanes[i]
		c := w[l.off : l.off+cdpWords]
		if k*l.magic >= l.magic {
			l.gatherOne(c, pdp)
			continue
		}
		l.finish(c, pdp, 1, 0)
		out = appendRow(out, l.stream, 0, int64(k/uint64(l.n)), math.Float64frombits(c[cdpPrimary]))
		l.advance(&c[cdpMeta])
	}
	return out, true
}

// straightMany is straightOne for several data sources.
func (m *Machine) straightMany(w []uint64, sec, from, end, k uint64, values []Value, out []Run) ([]Run, bool) {
	var buf [maxStraight]float64
	pdps := buf[:len(values)]
	iv := float64(sec - from)
	for i := range values {
		ds := m.ds(w, i)
		n, ok := m.sources[i].straight(ds[dsBits], ds[dsMeta], &values[i], iv)
		if !ok {
			return out, false
		}
		pdps[i] = n
	}
	w[wordLast] = sec * 1e6
	if sec < end {
		for i := range values {
			keepOpen(m.ds(w, i), &values[i], pdps[i], sec-from)
		}
		return out, true
	}
	for i := range values {
		pdp := m.straightPDP(m.ds(w, i), &values[i], pdps[i], iv, end-from, sec-end)
		if m.one != 0 {
			w[m.one+oneWords*i+onePrimary] = math.Float64bits(pdp)
			out = appendRow(out, m.oneID, int32(i), int64(k), pdp)
		}
		pdps[i] = pdp
	}
	m.advanceOnes(w)
	for i := range m.lanes {
		l := &m.lanes[i]
		closes := k*l.magic < l.magic
		for d, pdp := range pdps {
			c := w[l.off+cdpWords*d : l.off+cdpWords*d+cdpWords]
			if !closes {
				l.gatherOne(c, pdp)
				continue
			}
			l.finish(c, pdp, 1, 0)
			out = appendRow(out, l.stream, int32(d), int64(k/uint64(l.n)), math.Float64frombits(c[cdpPrimary]))
		}
		if closes {
			l.advance(&w[l.off+cdpMeta])
		}
	}
	return out, true
}

// straight is what v adds over iv seconds, after a reading of old bits and tag;
// not ok if it needs the general path.
func (s *source) straight(old, meta uint64, v *Value, iv float64) (n float64, ok bool) {
	oldTag := Tag(meta)
	if s.heartbeat < iv || oldTag == TagText {
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

// keepOpen is what gather and keep do for a PDP that stays open.
func keepOpen(ds []uint64, v *Value, n float64, iv uint64) {
	ds[dsBits] = v.Bits
	meta := ds[dsMeta]&^0xff | uint64(v.Tag)
	if n != n {
		ds[dsMeta] = meta + iv<<8
		return
	}
	ds[dsMeta] = meta
	if val := math.Float64frombits(ds[dsValue]); val == val {
		n += val
	}
	ds[dsValue] = math.Float64bits(n)
}

// straightPDP is closePDP and keep for one PDP and whole seconds.
func (m *Machine) straightPDP(ds []uint64, v *Value, n, iv float64, pre, post uint64) float64 {
	val := math.Float64frombits(ds[dsValue])
	unknown := int64(ds[dsMeta] >> 8)
	ds[dsBits] = v.Bits
	pdp := math.NaN()
	if n != n {
		if unknown <= m.step/2 {
			pdp = val / (float64(m.step-unknown) - float64(pre))
		}
		ds[dsValue] = nanBits
		ds[dsMeta] = post<<8 | uint64(v.Tag)
		return pdp
	}
	if val != val {
		val = 0
	}
	rate := n / iv
	val += float64(rate * float64(pre))
	if unknown <= m.step/2 {
		pdp = val / float64(m.step-unknown)
	}
	ds[dsValue] = math.Float64bits(float64(rate * float64(post)))
	ds[dsMeta] = uint64(v.Tag)
	return pdp
}

// advanceOnes moves the current rows of the archives of one PDP a row.
func (m *Machine) advanceOnes(w []uint64) {
	for i := range m.ones {
		o := &m.ones[i]
		p := &w[o.cur]
		if cur := uint32(*p>>(o.shift&63)) + 1; cur < o.rows {
			*p += 1 << (o.shift & 63)
		} else {
			*p -= uint64(cur-1) << (o.shift & 63)
		}
	}
}

// gatherOne is gather for one PDP.
func (l *lane) gatherOne(c []uint64, pdp float64) {
	if pdp != pdp {
		c[cdpMeta]++
		return
	}
	val := math.Float64frombits(c[cdpValue])
	if l.cf == Average {
		if val == val {
			pdp += val
		}
	} else if l.cf == Max && pdp <= val || l.cf == Min && pdp >= val {
		return
	}
	c[cdpValue] = math.Float64bits(pdp)
}

// advance moves the current row, in the high half of *p.
func (l *lane) advance(p *uint64) {
	if cur := uint32(*p>>32) + 1; cur < l.rows {
		*p += 1 << 32
	} else {
		*p &= 0xffffffff
	}
}

// appendRow appends one row. It sets the fields one by one: a Run put together elsewhere and copied
// is read back before the stores to the state have left the store buffer, and waits for all of them.
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
