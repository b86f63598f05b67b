package rra

import "math"

// advancePairs moves the current rows of the archives with one PDP in a row.
func (m *Machine) advancePairs(w []uint64) {
	for i := range m.pairs {
		o := &m.pairs[i]
		p := w[o.cur]
		if low, high := uint32(p)+1, uint32(p>>32)+1; low < o.low && high < o.high {
			w[o.cur] = p + o.step
			continue
		}
		w[o.cur] = o.turn(p)
	}
}

// turn advances the two row numbers in p; at least one of them returns to 0.
func (o *rowPair) turn(p uint64) uint64 {
	low, high := uint32(p)+1, uint32(p>>32)+uint32(o.step>>32)
	if low >= o.low {
		low = 0
	}
	if high >= o.high {
		high = 0
	}
	return uint64(high)<<32 | uint64(low)
}

// gatherAll is gatherOne for all lanes. It works on the words of data source 0; to work on data
// source d, w must begin cdpWords*d words later.
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

// gatherOne is folding.gather for one PDP.
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

// advance moves the current row, whose number is the high half of *p.
func (l *lane) advance(p *uint64) {
	if cur := uint32(*p>>32) + 1; cur < l.rows {
		*p += 1 << 32
	} else {
		*p &= 0xffffffff
	}
}
