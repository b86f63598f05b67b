package rra

import (
	"math"
	"math/bits"
	"slices"
	"strings"
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

// maxLanes is how many of them the straight path handles: a bit each.
const maxLanes = 64

// A reciprocal divides by a constant: for i below 2^32 the high half of i*magic
// is i/d.
func reciprocal(d int64) uint64 { return ^uint64(0)/uint64(d) + 1 }

// prepare decides whether the straight path may be taken, and lays its lanes out.
func (m *Machine) prepare() {
	m.stepMagic = reciprocal(m.step)
	ones := 0
	for i := range m.archives {
		a := &m.archives[i]
		switch {
		case !a.cf.classical():
		case a.n == 1:
			if ones%2 == 0 {
				m.ones = append(m.ones, one{cur: a.cur, step: 1, low: uint32(a.rows), high: math.MaxUint32})
			} else {
				o := &m.ones[len(m.ones)-1]
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

// A one is the current rows of two archives of one PDP a row, in the halves of a word, or of the
// last of them in the low half.
type one struct {
	cur       int
	step      uint64 // moves both
	low, high uint32 // rows of the archives
}

// A Moment is what steps of one Machine have in common that go from one time to the same other. It
// is used again for step after step, and made anew where they differ. The zero value is ready.
type Moment struct {
	m    *Machine
	at   Time
	last uint64 // as in the state

	sec, from uint64  // of at and last
	iv        float64 // between them
	end       uint64  // second at which the PDP that is open ends
	k         uint64  // number of the PDP behind it
	closing   uint64  // lanes of which it ends a row
	ok        bool    // the straight path can deal with these times
}

// make takes the times of a step apart.
func (mo *Moment) make(m *Machine, last uint64, at Time) {
	*mo = Moment{m: m, at: at, last: last, sec: uint64(at) / 1e6, from: last / 1e6}
	if uint64(at) <= last || mo.sec*1e6 != uint64(at) || mo.from*1e6 != last || mo.sec >= 1<<32 {
		return
	}
	step := uint64(m.step)
	first := mo.from
	if step > 1 {
		first, _ = bits.Mul64(mo.from, m.stepMagic)
	}
	mo.iv = float64(mo.sec - mo.from)
	mo.k = first + 1
	mo.end = mo.k * step
	if mo.ok = mo.sec < mo.end+step; !mo.ok {
		return
	}
	for i := range m.lanes {
		if l := &m.lanes[i]; mo.k*l.magic < l.magic {
			mo.closing |= 1 << i
		}
	}
}

// StepStraight is Step where the straight path may be taken: no COMPUTE, no archive of the
// Holt-Winters family, whole seconds, numbers. If it may not, StepStraight returns false and has
// changed nothing. After it no last reading is kept as text: whoever keeps the state's texts drops
// them. mo is what the step before has left of its times.
func (m *Machine) StepStraight(mo *Moment, w []uint64, at Time, values []Value, out []Run) ([]Run, bool) {
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

// Texted reports whether a last reading in w is kept as text.
func (m *Machine) Texted(w []uint64) bool {
	for i := range m.sources {
		if Tag(m.ds(w, i)[dsMeta]) == TagText {
			return true
		}
	}
	return false
}

// StepText is StepStraight for one reading that is kept as text, of the one data source of m, GAUGE
// or ABSOLUTE. After it the state's text is what of it is remembered.
func (m *Machine) StepText(mo *Moment, w []uint64, at Time, text string, out []Run) (runs []Run, remembered string, ok bool) {
	if len(m.sources) != 1 || m.sources[0].kind != Gauge && m.sources[0].kind != Absolute || text == "" || text[0] == 'U' {
		return out, "", false
	}
	f, err := ParseNumber(text)
	if err != nil {
		return out, "", false
	}
	values := [1]Value{Float(f)}
	if out, ok = m.StepStraight(mo, w, at, values[:], out); !ok {
		return out, "", false
	}
	ds := m.ds(w, 0)
	ds[dsBits] = 0
	ds[dsMeta] = ds[dsMeta]&^0xff | uint64(TagText)
	return out, strings.Clone(cutReading(text)), true
}

// straightOne is StepStraight for one data source.
func (m *Machine) straightOne(mo *Moment, w []uint64, v *Value, out []Run) ([]Run, bool) {
	ds := w[wordSources : wordSources+dsWords]
	n, ok := m.sources[0].straight(ds[dsBits], ds[dsMeta], v, mo.iv)
	if !ok {
		return out, false
	}
	w[wordLast] = uint64(mo.at)
	if mo.sec < mo.end {
		keepOpen(ds, v, n, mo.sec-mo.from)
		return out, true
	}
	pdp := m.straightPDP(ds, v, n, mo.iv, mo.end-mo.from, mo.sec-mo.end)
	if m.one != 0 {
		w[m.one+onePrimary] = math.Float64bits(pdp)
		out = appendRow(out, m.oneID, 0, int64(mo.k), pdp)
		m.advanceOnes(w)
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

// straightMany is StepStraight for several data sources.
func (m *Machine) straightMany(mo *Moment, w []uint64, values []Value, out []Run) ([]Run, bool) {
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
			keepOpen(m.ds(w, i), &values[i], pdps[i], mo.sec-mo.from)
		}
		return out, true
	}
	for i := range values {
		pdp := m.straightPDP(m.ds(w, i), &values[i], pdps[i], mo.iv, mo.end-mo.from, mo.sec-mo.end)
		if m.one != 0 {
			w[m.one+oneWords*i+onePrimary] = math.Float64bits(pdp)
			out = appendRow(out, m.oneID, int32(i), int64(mo.k), pdp)
		}
		pdps[i] = pdp
	}
	m.advanceOnes(w)
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

// straight is what v adds over iv seconds, after a reading of old bits and tag;
// not ok if it needs the general path.
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
		ds[dsMeta] = moreUnknownSec(meta, iv)
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
		p := w[o.cur]
		if low, high := uint32(p)+1, uint32(p>>32)+1; low < o.low && high < o.high {
			w[o.cur] = p + o.step
			continue
		}
		w[o.cur] = o.turn(p)
	}
}

// turn moves p where one of the two is at its end.
func (o *one) turn(p uint64) uint64 {
	low, high := uint32(p)+1, uint32(p>>32)+uint32(o.step>>32)
	if low >= o.low {
		low = 0
	}
	if high >= o.high {
		high = 0
	}
	return uint64(high)<<32 | uint64(low)
}

// gatherAll is gatherOne for all lanes. The words of data source d begin cdpWords*d words behind
// those of the first.
func (m *Machine) gatherAll(w []uint64, pdp float64) {
	if pdp != pdp {
		for i := range m.lanes {
			p := &w[m.lanes[i].off+cdpMeta]
			*p = moreUnknownPDPs(*p, 1)
		}
		return
	}
	for _, o := range m.gathers[Average] {
		sum := pdp
		if val := math.Float64frombits(w[o]); val == val {
			sum += val
		}
		w[o] = math.Float64bits(sum)
	}
	for _, o := range m.gathers[Min] {
		if !(pdp >= math.Float64frombits(w[o])) {
			w[o] = math.Float64bits(pdp)
		}
	}
	for _, o := range m.gathers[Max] {
		if !(pdp <= math.Float64frombits(w[o])) {
			w[o] = math.Float64bits(pdp)
		}
	}
	for _, o := range m.gathers[Last] {
		w[o] = math.Float64bits(pdp)
	}
}

// gatherOne is gather for one PDP.
func (l *lane) gatherOne(c []uint64, pdp float64) {
	if pdp != pdp {
		c[cdpMeta] = moreUnknownPDPs(c[cdpMeta], 1)
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
// is read back before the stores to the state have left the store buffer, and waits for all of
// them.
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
