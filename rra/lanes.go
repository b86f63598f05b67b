package rra

import "math"

// advancePairs moves the current rows of the archives with one PDP in a row by some rows. Word j of
// the state stands at w[j*n].
func (m *Machine) advancePairs(w []uint64, n, rows int) {
	for i := range m.pairs {
		o := &m.pairs[i]
		p := &w[o.cur*n]
		if low, high := uint32(*p)+uint32(rows), uint32(*p>>32)+uint32(rows); low < o.low && high < o.high {
			*p += o.step * uint64(rows)
			continue
		}
		*p = o.turn(*p, rows)
	}
}

// turn advances the two row numbers in p; at least one of them goes past 0.
func (o *rowPair) turn(p uint64, rows int) uint64 {
	low := (uint64(uint32(p)) + uint64(rows)) % uint64(o.low)
	high := (p>>32 + o.step>>32*uint64(rows)) % uint64(o.high)
	return high<<32 | low
}

// gatherOne is folding.gather for one PDP. The words of the lane lie step apart in c.
func (l *lane) gatherOne(c []uint64, step int, pdp float64) {
	if pdp != pdp {
		c[cdpMeta*step] = moreUnknownPDPs(c[cdpMeta*step], 1)
		return
	}
	val := math.Float64frombits(c[cdpValue*step])
	if l.cf == Average {
		if val == val {
			pdp += val
		}
	} else if l.cf == Max && pdp <= val || l.cf == Min && pdp >= val {
		return
	}
	c[cdpValue*step] = math.Float64bits(pdp)
}

// advance moves the current row, whose number is the high half of *p.
func (l *lane) advance(p *uint64) {
	if cur := uint32(*p>>32) + 1; cur < l.rows {
		*p += 1 << 32
	} else {
		*p &= 0xffffffff
	}
}
