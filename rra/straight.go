package rra

import (
	"math"
	"math/bits"
)

// The straight path is Step for what nearly every sample is: times on whole
// seconds, no COMPUTE and no Holt-Winters, numbers and not texts, heartbeats
// kept, and at most one PDP that ends. It does what the general path does with the
// same operations in the same order, without what the common case does not need;
// TestStraight holds the two against each other.

// maxStraight is how many data sources the straight path handles.
const maxStraight = 8

// A lane is an archive with several PDPs a row, as the straight path sees it.
type lane struct {
	magic  uint64 // 2^64/n rounded up: i is a multiple of n if i*magic < magic, for i below 2^32
	n      int64
	maxNaN float64
	off    int32
	rows   uint32
	stream int32
	cf     CF
}

// A reciprocal divides by a constant: for i below 2^32 the high half of i*magic
// is i/d.
func reciprocal(d int64) uint64 { return ^uint64(0)/uint64(d) + 1 }

// prepare decides whether the straight path may be taken, and lays its lanes out.
func (m *Machine) prepare() {
	m.straight = len(m.sources) <= maxStraight && m.inputs == len(m.sources) && !m.family
	m.stepMagic = reciprocal(m.step)
	for i := range m.archives {
		a := &m.archives[i]
		switch {
		case !a.cf.classical():
		case a.n == 1:
			m.ones = append(m.ones, one{cur: int32(a.cur), shift: uint8(a.shift), rows: uint32(a.rows)})
		default:
			m.lanes = append(m.lanes, lane{
				magic: reciprocal(a.n), n: a.n, maxNaN: a.maxNaN,
				off: int32(a.off), rows: uint32(a.rows), stream: a.stream, cf: a.cf,
			})
		}
	}
}

// A one is the current row of an archive of one PDP a row.
type one struct {
	rows  uint32
	cur   int32
	shift uint8
}

// tryStraight is Step if the straight path applies; if not, it has changed nothing.
func (m *Machine) tryStraight(w []uint64, at Time, values []Value, out []Run) ([]Run, bool) {
	last := Time(w[wordLast])
	sec, from := int64(at)/1e6, int64(last)/1e6
	if at <= last || int64(at) != sec*1e6 || int64(last) != from*1e6 || sec >= 1<<32 || last < 0 || len(values) != len(m.sources) {
		return out, false
	}
	step := m.step
	first := from
	if step > 1 {
		hi, _ := bits.Mul64(uint64(from), m.stepMagic)
		first = int64(hi)
	}
	end := (first + 1) * step
	if sec >= end+step {
		return out, false
	}
	iv := float64(sec - from)
	var amounts [maxStraight]float64
	for i := range values {
		n, ok := m.sources[i].straight(w[wordSources+dsWords*i:wordSources+dsWords*i+dsWords], values[i], iv)
		if !ok {
			return out, false
		}
		amounts[i] = n
	}
	w[wordLast] = uint64(at)
	if sec < end {
		for i := range values {
			ds := w[wordSources+dsWords*i : wordSources+dsWords*i+dsWords]
			n := amounts[i]
			ds[dsBits] = values[i].Bits
			if n != n {
				ds[dsMeta] = ds[dsMeta]&^0xff + uint64(sec-from)<<8 | uint64(values[i].Tag)
				continue
			}
			ds[dsMeta] = ds[dsMeta]&^0xff | uint64(values[i].Tag)
			if val := math.Float64frombits(ds[dsValue]); val == val {
				n += val
			}
			ds[dsValue] = math.Float64bits(n)
		}
		return out, true
	}
	for i := range values {
		pdp := m.straightPDP(w[wordSources+dsWords*i:wordSources+dsWords*i+dsWords], values[i], amounts[i], iv, end-from, sec-end)
		if m.one != 0 {
			w[m.one+oneWords*i+onePrimary] = math.Float64bits(pdp)
			out = append(out, Run{m.oneID, int32(i), first + 1, 1, pdp})
		}
		amounts[i] = pdp
	}
	for i := range m.ones {
		o := &m.ones[i]
		p := &w[o.cur]
		if cur := uint32(*p>>o.shift) + 1; cur < o.rows {
			*p += 1 << o.shift
		} else {
			*p -= uint64(cur-1) << o.shift
		}
	}
	for i := range m.lanes {
		l := &m.lanes[i]
		if uint64(first+1)*l.magic < l.magic {
			out = l.finish(w, amounts[:len(values)], (first+1)/l.n, out)
			continue
		}
		for d := range values {
			l.gather(w[int(l.off)+cdpWords*d:int(l.off)+cdpWords*d+cdpWords], amounts[d])
		}
	}
	return out, true
}

// straight is what v adds over iv seconds; not ok if it needs the general path.
func (s *source) straight(ds []uint64, v Value, iv float64) (n float64, ok bool) {
	if s.heartbeat < iv || Tag(ds[dsMeta]&0xff) == TagText {
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
		old := Tag(ds[dsMeta] & 0xff)
		if int64(v.Bits|ds[dsBits]) < 0 || v.Tag > TagUint || old > TagUint {
			return 0, false
		}
		if old == TagUnknown {
			return math.NaN(), true
		}
		d := int64(v.Bits - ds[dsBits])
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

// straightPDP is closePDP for one PDP and whole seconds; it keeps the reading too.
func (m *Machine) straightPDP(ds []uint64, v Value, n, iv float64, pre, post int64) float64 {
	val := math.Float64frombits(ds[dsValue])
	unknown := int64(ds[dsMeta] >> 8)
	ds[dsBits] = v.Bits
	pdp := math.NaN()
	if n != n {
		if unknown <= m.step/2 {
			pdp = val / (float64(m.step-unknown) - float64(pre))
		}
		ds[dsValue] = nanBits
		ds[dsMeta] = uint64(post)<<8 | uint64(v.Tag)
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

// gather is archive.gather for one PDP.
func (l *lane) gather(c []uint64, pdp float64) {
	if pdp != pdp {
		c[cdpMeta]++
		return
	}
	val := math.Float64frombits(c[cdpValue])
	if val == val {
		switch l.cf {
		case Average:
			pdp += val
		case Min:
			if !(pdp < val) {
				return
			}
		case Max:
			if !(pdp > val) {
				return
			}
		}
	}
	c[cdpValue] = math.Float64bits(pdp)
}

// finish is archive.finish for one PDP, the last of row k.
func (l *lane) finish(w []uint64, pdps []float64, k int64, out []Run) []Run {
	a := archive{cf: l.cf, n: l.n, maxNaN: l.maxNaN}
	for d, v := range pdps {
		c := w[int(l.off)+cdpWords*d : int(l.off)+cdpWords*d+cdpWords]
		a.finish(c, v, 1, 0)
		out = append(out, Run{l.stream, int32(d), k, 1, math.Float64frombits(c[cdpPrimary])})
	}
	p := &w[int(l.off)+cdpMeta]
	if cur := uint32(*p>>32) + 1; cur < l.rows {
		*p += 1 << 32
	} else {
		*p &= 0xffffffff
	}
	return out
}
