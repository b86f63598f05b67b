package rows

import (
	"math"
	"math/bits"
)

// A packing says how to pack the integers of a block.
type packing struct {
	mode  byte
	width uint  // bits of an integer
	step  int64 // what a decoder adds for each row, in the delta modes
	base  int64 // as written
	patch bool  // some deltas have patches
	bits  int   // size of the packed integers, base, step and patches
}

// planIntegers chooses the cheapest packing of q.
func planIntegers(q []int64) packing {
	n := len(q)
	lo, hi := q[0], q[0]
	dlo, dhi := int64(math.MaxInt64), int64(math.MinInt64)
	before := q[:n-1] // of each integer from the second on, the one before it
	total := 0        // bits of all deltas, without signs
	for i, v := range q[1:] {
		lo, hi = min(lo, v), max(hi, v)
		d := v - before[i]
		dlo, dhi = min(dlo, d), max(dhi, d)
		total += bits.Len64(uint64(d ^ (d >> 63)))
	}

	w := uint(bits.Len64(uint64(hi - lo)))
	s := offsetShift(w)
	if uint(bits.Len64(uint64(hi-lo>>s<<s))) > w {
		w++
		s = offsetShift(w)
	}
	best := packing{mode: modeOffset, width: min(w, 64), base: lo >> s}
	best.bits = n*int(w) + 8*uvarintLen(zigzag(best.base))
	if n == 1 {
		return best
	}

	d := packing{mode: modeDelta}
	if dlo != 0 || dhi != 0 {
		d.width = uint(bits.Len64(uint64(max(dlo^(dlo>>63), dhi^(dhi>>63))))) + 1
	}
	longest := int(d.width)
	if d.width <= 64 {
		d.setDelta(q, 0)
		if d.bits < best.bits {
			best = d
		}
	}
	if r := uint(bits.Len64(uint64(dhi - dlo))); int(r) < longest && r < 64 {
		d = packing{mode: modeDrift, width: r}
		d.setDelta(q, dlo)
		if d.bits < best.bits {
			best = d
		}
	}
	if worthPatches(n, longest, total) {
		if d, ok := planPatches(q, longest); ok && d.bits < best.bits {
			best = d
		}
	}
	return best
}

// worthPatches reports whether the longest of n-1 deltas, which have total bits together, are so
// much longer than most that patches may save enough bits.
func worthPatches(n, longest, total int) bool {
	spare := longest - 2 - total/(n-1) // bits a row that may be saved
	return spare > 2 && spare*n > 40
}

// offsetShift returns how many low bits of the base of modeOffset are left out. It is part of the
// format.
func offsetShift(width uint) uint {
	if width > 4 {
		return min(width, 64) - 4
	}
	return 0
}

// deltaBias returns what modeDelta adds to the packed bits. It is part of the format.
func deltaBias(width uint) int64 {
	if width == 0 {
		return 0
	}
	return -1 << (width - 1)
}

func (p *packing) setDelta(q []int64, drift int64) {
	p.bits = len(q) * int(p.width)
	if p.mode == modeDrift {
		p.step = drift
		p.bits += 8 * uvarintLen(zigzag(drift))
	} else {
		p.step = deltaBias(p.width)
	}
	p.base = q[0] >> p.width
	p.bits += 8 * uvarintLen(zigzag(p.base))
}

// planPatches chooses a width below longest for deltas with a few that are much larger than the
// others. Those get patches.
func planPatches(q []int64, longest int) (packing, bool) {
	var count [66]uint8 // deltas that need so many bits
	prev := q[0]
	for _, v := range q[1:] {
		d := v - prev
		prev = v
		need := 0
		if d != 0 {
			need = bits.Len64(uint64(d^(d>>63))) + 1
		}
		count[need]++
	}
	// A patch takes 8 bits for its index, and 8 bits for every 7 bits above the width.
	best, bestCost, over, above := -1, longest*len(q), 0, 0
	for w := longest - 1; w >= 0; w-- {
		over += int(count[w+1])
		if over > len(q)/4 {
			break
		}
		above += over
		if c := w*len(q) + over*12 + above*8/7; w <= maxPatchedWidth && c < bestCost {
			best, bestCost = w, c
		}
	}
	if best < 0 {
		return packing{}, false
	}
	p := packing{mode: modeDelta, width: uint(best), patch: true}
	p.setDelta(q, 0)
	p.bits += 8
	prev = q[0]
	for _, v := range q[1:] {
		if high := (v - prev - p.step) >> p.width; high != 0 {
			p.bits += 8 + 8*uvarintLen(zigzag(high))
		}
		prev = v
	}
	return p, true
}
