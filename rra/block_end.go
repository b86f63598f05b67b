package rra

import "math"

// End folds the PDPs that have ended into the archives, and returns the rows that end: of a stream
// and a data source either one row of every series in the block, or none.
func (b *Block) End() []BlockRows {
	b.rows, b.out = b.rows[:0], b.out[:0]
	m, mo := b.m, &b.mo
	if len(b.index) == 0 || mo.sec < mo.end {
		return nil
	}
	if m.one != 0 {
		for d := range m.sources {
			pdps := b.pdps(d)
			primary := b.t.column(m.one + oneWords*d + onePrimary)
			for j, i := range b.index {
				primary[i] = math.Float64bits(pdps[j])
			}
			b.rows = append(b.rows, BlockRows{m.oneID, int32(d), int64(mo.k), pdps})
		}
	}
	if most := len(m.lanes) * len(m.sources) * BlockSeries; cap(b.out) < most && mo.closing != 0 {
		b.out = make([]float64, 0, most)
	}
	for i := range m.lanes {
		l := &m.lanes[i]
		for d := range m.sources {
			if mo.closing>>i&1 == 0 {
				b.gather(l, d)
				continue
			}
			b.rows = append(b.rows, BlockRows{l.stream, int32(d), int64(mo.k / uint64(l.n)), b.finish(l, d)})
		}
	}
	return b.rows
}

// pdps returns the PDPs of a data source, by series of the block.
func (b *Block) pdps(d int) []float64 {
	return b.pdp[d*BlockSeries:][:len(b.index)]
}

// gather is folding.gather, for one PDP, of every series of the block.
func (b *Block) gather(l *lane, d int) {
	off, pdps := l.off+cdpWords*d, b.pdps(d)
	if !l.cf.gather(b.t.column(off+cdpValue), b.index, pdps) {
		return
	}
	metas := b.t.column(off + cdpMeta)
	for j, i := range b.index {
		if pdp := pdps[j]; pdp != pdp {
			metas[i] = moreUnknownPDPs(metas[i], 1)
		}
	}
}

// gather folds PDPs into the values of open rows. It leaves out unknown ones, and reports whether
// there are any. It calls nothing, so that the compiler keeps all in registers. Which of two
// numbers is the larger one is hard to predict, so that Max and Min choose without a branch.
func (cf CF) gather(vals []uint64, index []int32, pdps []float64) (unknown bool) {
	index = index[:len(pdps)]
	switch cf {
	case Average:
		for j, pdp := range pdps {
			val := &vals[index[j]]
			if pdp != pdp {
				unknown = true
				continue
			}
			if old := math.Float64frombits(*val); old == old {
				pdp += old
			}
			*val = math.Float64bits(pdp)
		}
	case Max:
		for j, pdp := range pdps {
			val := &vals[index[j]]
			if pdp != pdp {
				unknown = true
				continue
			}
			old, next := *val, math.Float64bits(pdp)
			if pdp <= math.Float64frombits(old) {
				next = old
			}
			*val = next
		}
	case Min:
		for j, pdp := range pdps {
			val := &vals[index[j]]
			if pdp != pdp {
				unknown = true
				continue
			}
			old, next := *val, math.Float64bits(pdp)
			if pdp >= math.Float64frombits(old) {
				next = old
			}
			*val = next
		}
	default: // Last
		for j, pdp := range pdps {
			if pdp != pdp {
				unknown = true
				continue
			}
			vals[index[j]] = math.Float64bits(pdp)
		}
	}
	return unknown
}

// finish ends a row of a lane for every series of the block, and returns these rows.
func (b *Block) finish(l *lane, d int) []float64 {
	n := len(b.out)
	b.out = b.out[:n+len(b.index)]
	out := b.out[n:]
	pdps := b.pdps(d)
	off := l.off + cdpWords*d
	vals, metas := b.t.column(off+cdpValue), b.t.column(off+cdpMeta)
	primary, secondary := b.t.column(off+cdpPrimary), b.t.column(off+cdpSecondary)
	for j, i := range b.index {
		c := [cdpWords]uint64{cdpValue: vals[i], cdpMeta: metas[i]}
		l.finish(c[:], pdps[j], 1, 0)
		out[j] = math.Float64frombits(c[cdpPrimary])
		vals[i], primary[i], secondary[i], metas[i] = c[cdpValue], c[cdpPrimary], c[cdpSecondary], c[cdpMeta]
	}
	return out
}
