package rows

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// A blockEncoder is the working memory of [Append] and of a [Coder].
type blockEncoder struct {
	pdps     int64
	hint     *Hint
	notes    *scaleNotes         // nil: none are kept
	corr     uint                // bits of a correction
	outliers int                 // rows that have no q
	q        [blockRows]int64    // integers of the block
	ulp      [blockRows]int8     // corrections, in units in the last place
	outlier  [blockRows / 4]byte // indices of the outliers
}

// appendBlocks appends rows whose first ones differ.
func (e *blockEncoder) appendBlocks(dst []byte, rows []float64) []byte {
	for at := 0; at < len(rows); {
		rest := rows[at:]
		if at > 0 && uniform(rest) {
			return appendUniform(dst, rest[0], e.pdps, e.hint)
		}
		n := blockLen(len(rest))
		dst = e.appendBlock(dst, rest[:n])
		at += n
	}
	return dst
}

func (e *blockEncoder) appendBlock(dst []byte, rows []float64) []byte {
	if m := e.hint.scale; m != 0 && e.applyAll(rows, float64(m)) {
		n := len(rows)
		m := e.reduce(uint64(m), n)
		p := planIntegers(e.q[:n])
		if p.bits+n*int(e.corr) <= dear*n {
			e.hint.scale = uint32(m)
			return e.appendScaled(dst, rows, m, &p, e.corr, nil)
		}
	}
	for _, x := range rows {
		if x != x {
			return e.appendSparse(dst, rows)
		}
	}
	return e.appendValues(dst, rows, nil)
}

// applyAll fills e.q, e.ulp and e.corr with vals at scale m, as apply and correctionBits do. It
// returns false if any of them does not fit, or may not fit.
func (e *blockEncoder) applyAll(vals []float64, m float64) bool {
	// Of the corrections, and of the integers plus maxInteger: which bits are set in any of them.
	e.outliers = 0
	ulps, nonzero, large := int64(0), int64(0), uint64(0)
	qs, us := e.q[:len(vals)], e.ulp[:len(vals)]
	for i, x := range vals {
		q := int64(math.Float64bits(float64(x*m)+roundMagic)) - roundMagicBits
		u := int64(math.Float64bits(x) - math.Float64bits(float64(q)/m))
		qs[i], us[i] = q, int8(u)
		ulps |= u ^ (u >> 63)
		nonzero |= u
		large |= uint64(q + maxInteger)
	}
	switch {
	case ulps >= 1<<(maxCorrection-1) || large >= 2*maxInteger:
		return false
	case ulps != 0:
		e.corr = uint(bits.Len64(uint64(ulps))) + 1
	default:
		e.corr = uint(nonzero & 1)
	}
	return true
}

// reduce divides the scale m and the n integers by what they all have in common, and returns the
// scale that is left. There are no outliers.
func (e *blockEncoder) reduce(m uint64, n int) uint64 {
	if m == 1 || e.notes != nil && e.notes.of(m, e.pdps).reduced(e.q[:n]) {
		return m
	}
	g := divisor(m, e.q[:n])
	if g != 1 {
		for i := range n {
			e.q[i] /= int64(g)
		}
	}
	return m / g
}

// divisor returns the greatest common divisor of m and all of q.
func divisor(m uint64, q []int64) uint64 {
	for _, v := range q {
		if m == 1 {
			break
		}
		m = gcd(m, abs64(v))
	}
	return m
}

// appendSparse appends a block with unknown rows.
func (e *blockEncoder) appendSparse(dst []byte, rows []float64) []byte {
	var known [blockRows]float64
	var list [3 * blockRows]byte
	n, runs := 0, 0
	buf := list[:0]
	for i := 0; i < len(rows); {
		gap := i
		for i < len(rows) && rows[i] == rows[i] {
			known[n] = rows[i]
			n++
			i++
		}
		if i == len(rows) {
			break
		}
		gap = i - gap
		run := i
		for i < len(rows) && rows[i] != rows[i] {
			i++
		}
		buf = append(buf, byte(gap), byte(i-run))
		runs++
	}
	if n == 0 {
		return append(dst, tagUnknownBlock)
	}
	var head [blockRows + 1]byte
	head[0] = byte(runs)
	copy(head[1:], buf)
	return e.appendValues(dst, known[:n], head[:1+len(buf)])
}

// dear is from how many bits a row on bit patterns may take fewer bytes than integers.
const dear = 36

// appendValues appends a block of vals, which has no NaN. unknown is the coded list of runs of
// unknown rows, or empty.
func (e *blockEncoder) appendValues(dst []byte, vals []float64, unknown []byte) []byte {
	n := len(vals)
	m := e.scale(vals)
	var p packing
	corr := uint(0)
	cost := math.MaxInt
	if m != 0 {
		p = planIntegers(e.q[:n])
		corr = e.correctionBits(n)
		cost = p.bits + n*int(corr) + e.outliers*72
	}
	if cost > dear*n {
		// Bit patterns may take fewer bytes. Trying them overwrites the integers, which are made
		// again if they are better.
		shift := e.patterns(vals)
		pp := planIntegers(e.q[:n])
		if pp.bits < cost || !e.apply(vals, m) {
			e.hint.scale = 0
			if pp.bits >= 64*n {
				return appendRaw(dst, vals, unknown)
			}
			return e.appendPattern(dst, n, pp, shift, unknown)
		}
		p, corr = planIntegers(e.q[:n]), e.correctionBits(n)
	}
	e.hint.scale = uint32(m)
	return e.appendScaled(dst, vals, m, &p, corr, unknown)
}

// scale fills e.q, e.ulp and e.outlier with vals at the smallest scale that fits them, and returns
// that scale; 0: no scale fits.
func (e *blockEncoder) scale(vals []float64) uint64 {
	m := uint64(e.hint.scale)
	if m == 0 || !e.apply(vals, m) {
		var ok bool
		if m, ok = findScale(vals, e.pdps); !ok || !e.apply(vals, m) {
			return 0
		}
	}
	if e.outliers == 0 {
		return e.reduce(m, len(vals))
	}
	if g := divisor(m, e.q[:len(vals)]); g != 1 {
		m /= g
		if !e.apply(vals, m) { // a value too large for the larger scale may fit now
			return 0
		}
	}
	return m
}

// apply fills e.q, e.ulp and e.outlier with vals at scale m. It returns false if too many values do
// not fit.
func (e *blockEncoder) apply(vals []float64, m uint64) bool {
	mf := float64(m)
	e.outliers = 0
	most := len(vals) / 8
	prev := int64(0)
	for i, x := range vals {
		q, ulp, ok := scaleTo(x, mf)
		if !ok {
			if e.outliers >= most {
				return false
			}
			e.outlier[e.outliers] = byte(i)
			e.outliers++
			q, ulp = prev, 0
		}
		e.q[i], e.ulp[i] = q, int8(ulp)
		prev = q
	}
	if e.outliers > 0 {
		// Outliers at the beginning have no q before them: take the first one after them.
		k := 0
		for k < e.outliers && int(e.outlier[k]) == k {
			k++
		}
		for i := range k {
			e.q[i] = e.q[k]
		}
	}
	return true
}

func (e *blockEncoder) correctionBits(n int) uint {
	all := 0
	for _, u := range e.ulp[:n] {
		v := int(u)
		all |= v ^ (v >> 63)
	}
	if all != 0 {
		return uint(bits.Len(uint(all))) + 1
	}
	for _, u := range e.ulp[:n] {
		if u != 0 {
			return 1
		}
	}
	return 0
}

// patterns fills e.q with the bit patterns of vals, the sign bit last, without the low bits that
// are 0 in all of them. shift is the number of these bits.
func (e *blockEncoder) patterns(vals []float64) (shift uint) {
	all := uint64(0)
	for _, x := range vals {
		all |= bits.RotateLeft64(math.Float64bits(x), 1)
	}
	shift = uint(bits.TrailingZeros64(all)) & 63
	for i, x := range vals {
		e.q[i] = int64(bits.RotateLeft64(math.Float64bits(x), 1) >> shift)
	}
	return shift
}

// appendRaw appends vals as doubles.
func appendRaw(dst []byte, vals []float64, unknown []byte) []byte {
	turn := 0
	if len(unknown) == 0 {
		dst = append(dst, tagRawBlock)
	} else { // patterns of 64 bits, with a base of 0
		turn = 1
		dst = append(dst, tagPattern|modeOffset|flagUnknown, 64, 0, 0)
		dst = append(dst, unknown...)
	}
	dst = slices.Grow(dst, 8*len(vals))
	for _, x := range vals {
		dst = binary.LittleEndian.AppendUint64(dst, bits.RotateLeft64(math.Float64bits(x), turn))
	}
	return dst
}

func (e *blockEncoder) appendPattern(dst []byte, n int, p packing, shift uint, unknown []byte) []byte {
	tag := tagPattern | p.mode
	if p.patch {
		tag |= flagPatch
	}
	if len(unknown) > 0 {
		tag |= flagUnknown
	}
	dst = append(dst, tag)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(p.width|shift<<7))
	dst = e.appendLists(dst, n, &p, unknown)
	return e.appendPacked(dst, n, &p, 0)
}

func (e *blockEncoder) scaleCode(m uint64) uint {
	if e.notes != nil {
		return e.notes.of(m, e.pdps).code
	}
	return scaleCode(m, e.pdps)
}

func (e *blockEncoder) appendScaled(dst []byte, vals []float64, m uint64, p *packing, corr uint, unknown []byte) []byte {
	tag := tagScaled | p.mode
	if e.outliers > 0 {
		tag |= flagOutlier
	}
	if p.patch {
		tag |= flagPatch
	}
	if len(unknown) > 0 {
		tag |= flagUnknown
	}
	dst = append(dst, tag)
	code := e.scaleCode(m)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(p.width|corr<<6|code<<9))
	if code == scaleEscape {
		dst = binary.AppendUvarint(dst, m)
	}
	dst = e.appendLists(dst, len(vals), p, unknown)
	if e.outliers > 0 {
		dst = append(dst, byte(e.outliers))
		for _, i := range e.outlier[:e.outliers] {
			dst = append(dst, i)
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(vals[i]))
		}
	}
	return e.appendPacked(dst, len(vals), p, corr)
}

// appendLists appends base, drift, unknown runs and patches.
func (e *blockEncoder) appendLists(dst []byte, n int, p *packing, unknown []byte) []byte {
	dst = binary.AppendUvarint(dst, zigzag(p.base))
	if p.mode == modeDrift {
		dst = binary.AppendUvarint(dst, zigzag(p.step))
	}
	dst = append(dst, unknown...)
	if !p.patch {
		return dst
	}
	at := len(dst)
	dst = append(dst, 0)
	prev := e.q[0]
	for i, v := range e.q[1:n] {
		if high := (v - prev - p.step) >> p.width; high != 0 {
			dst = append(dst, byte(i+1))
			dst = binary.AppendUvarint(dst, zigzag(high))
			dst[at]++
		}
		prev = v
	}
	return dst
}
