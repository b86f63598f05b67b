package rra

import "math"

// consolidate folds elapsed PDPs, all equal to pdp, into every archive. first is the number of the
// first PDP, in steps since 1970. The rows that end are appended to out.
func (m *Machine) consolidate(w []uint64, pdp []float64, first, elapsed int64, out []Run) []Run {
	if m.one != 0 {
		out = m.consolidateOne(w, pdp, first, elapsed, out)
	}
	for i := range m.archives {
		a := &m.archives[i]
		if !a.cf.classical() {
			continue
		}
		if a.n == 1 {
			a.advance(w, elapsed)
			continue
		}
		begin := first % a.n
		off := a.n - begin
		if elapsed < off {
			for d, v := range pdp {
				a.gather(w[a.off+cdpWords*d:], v, elapsed)
			}
			continue
		}
		ended := (elapsed-off)/a.n + 1
		rows := min(ended, a.rows)
		rest := (elapsed - off) % a.n
		k := (first+elapsed)/a.n - rows + 1
		for d, v := range pdp {
			c := w[a.off+cdpWords*d:]
			a.finish(c, v, off, rest)
			out = append(out, Run{a.stream, int32(d), k, 1, math.Float64frombits(c[cdpPrimary])})
			if rows > 1 {
				out = append(out, Run{a.stream, int32(d), k + 1, rows - 1, math.Float64frombits(c[cdpSecondary])})
			}
		}
		a.advance(w, ended)
	}
	if m.family {
		out = m.holtWinters(w, pdp, first, elapsed, out)
	}
	return out
}

// consolidateOne is consolidate for archives with one PDP in a row.
func (m *Machine) consolidateOne(w []uint64, pdp []float64, first, elapsed int64, out []Run) []Run {
	rows := min(elapsed, m.oneRows)
	k := first + elapsed - rows + 1
	for d, v := range pdp {
		for _, o := range m.own {
			n := min(elapsed, o.rows)
			out = append(out, Run{o.stream, int32(d), first + elapsed - n + 1, n, v})
		}
		c := w[m.one+oneWords*d:]
		c[onePrimary] = math.Float64bits(v)
		if elapsed > 1 {
			c[oneSecondary] = math.Float64bits(v)
		}
		if rows > 0 {
			out = append(out, Run{m.oneID, int32(d), k, rows, v})
		}
	}
	return out
}

// gather adds elapsed equal PDPs to a row that stays open.
func (a *folding) gather(c []uint64, pdp float64, elapsed int64) {
	if math.IsNaN(pdp) {
		c[cdpMeta] = moreUnknownPDPs(c[cdpMeta], uint64(elapsed))
		return
	}
	val := math.Float64frombits(c[cdpValue])
	switch {
	case a.cf == Average:
		sum := float64(pdp * float64(elapsed))
		if !math.IsNaN(val) {
			sum += val
		}
		val = sum
	case a.cf == Last || math.IsNaN(val),
		a.cf == Min && pdp < val,
		a.cf == Max && pdp > val:
		val = pdp
	}
	c[cdpValue] = math.Float64bits(val)
}

// finish ends a row with off more PDPs, all equal to pdp, and begins another with rest of them.
// Primary is the row that ends. Secondary is the value of further rows that the same reading ends.
func (a *folding) finish(c []uint64, pdp float64, off, rest int64) {
	val := math.Float64frombits(c[cdpValue])
	unknown := int64(c[cdpMeta] & 0xffffffff)
	nan := math.IsNaN(pdp)
	if nan {
		unknown += off
	}
	primary := math.NaN()
	if !(float64(unknown) > a.maxNaN) {
		primary = a.row(val, pdp, unknown, off)
	}
	c[cdpPrimary] = math.Float64bits(primary)
	c[cdpSecondary] = math.Float64bits(pdp)
	unknown = 0
	if nan {
		unknown = rest
	}
	c[cdpValue] = math.Float64bits(a.carry(pdp, rest))
	c[cdpMeta] = c[cdpMeta]&^0xffffffff | uint64(unknown)
}

// row returns the value of a row that held val and unknown PDPs, and gets off more PDPs.
func (a *folding) row(val, pdp float64, unknown, off int64) float64 {
	switch a.cf {
	case Average:
		if math.IsNaN(val) {
			val = 0
		}
		if math.IsNaN(pdp) {
			pdp = 0
		}
		return (val + float64(pdp*float64(off))) / float64(a.n-unknown)
	case Min:
		val, pdp = orInf(val, 1), orInf(pdp, 1)
		if pdp < val {
			return pdp
		}
		return val
	case Max:
		val, pdp = orInf(val, -1), orInf(pdp, -1)
		if pdp > val {
			return pdp
		}
		return val
	}
	return pdp
}

// carry returns what a new row holds after rest PDPs.
func (a *folding) carry(pdp float64, rest int64) float64 {
	none := rest == 0 || math.IsNaN(pdp)
	switch {
	case a.cf == Average && none:
		return 0
	case a.cf == Average:
		return float64(pdp * float64(rest))
	case !none:
		return pdp
	case a.cf == Min:
		return math.Inf(1)
	case a.cf == Max:
		return math.Inf(-1)
	}
	return math.NaN()
}

func orInf(f float64, sign int) float64 {
	if math.IsNaN(f) {
		return math.Inf(sign)
	}
	return f
}
