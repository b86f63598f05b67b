package rows

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// A blockEncoder is the working memory of one call of Append.
type blockEncoder struct {
	pdps     int64
	hint     *Hint
	outliers int                 // rows that have no q
	q        [blockRows]int64    // integers of the block
	ulp      [blockRows]int8     // corrections, in units in the last place
	outlier  [blockRows / 4]byte // indices of the outliers
}

func appendUniform(dst []byte, x float64, pdps int64, h *Hint) []byte {
	if x != x {
		return append(dst, tagUnknownRest)
	}
	b := math.Float64bits(x)
	if b == 0 {
		return append(dst, tagZeroRest)
	}
	m, ok := uint64(h.scale), h.scale != 0
	for range 2 {
		if ok {
			if q, ulp, fits := scaleTo(x, float64(m)); fits && ulp == 0 {
				g := gcd(m, abs64(q))
				dst = append(dst, tagIntegerRest)
				at := len(dst)
				dst = appendScale(dst, m/g, pdps)
				dst = binary.AppendUvarint(dst, zigzag(q/int64(g)))
				if len(dst)-at < 8 {
					if h.scale == 0 {
						h.scale = uint32(m / g)
					}
					return dst
				}
				dst = dst[:at-1]
			}
		}
		m, ok = findScale([]float64{x}, pdps)
	}
	return binary.LittleEndian.AppendUint64(append(dst, tagPatternRest), b)
}

// appendScale appends the scale of tagIntegerRest: its code, and m if no code stands for m.
func appendScale(dst []byte, m uint64, pdps int64) []byte {
	code := scaleCode(m, pdps)
	dst = append(dst, byte(code))
	if code == scaleEscape {
		dst = binary.AppendUvarint(dst, m)
	}
	return dst
}

func (e *blockEncoder) appendBlock(dst []byte, rows []float64) []byte {
	for _, x := range rows {
		if x != x {
			return e.appendSparse(dst, rows)
		}
	}
	return e.appendValues(dst, rows, nil)
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
	if cost > 36*n {
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
	return e.appendScaled(dst, vals, m, p, corr, unknown)
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
	g := m
	for _, q := range e.q[:len(vals)] {
		if g == 1 {
			return m
		}
		g = gcd(g, abs64(q))
	}
	m /= g
	switch {
	case g == 1:
	case e.outliers > 0: // a value too large for the larger scale may fit now
		if !e.apply(vals, m) {
			return 0
		}
	default:
		for i := range vals {
			e.q[i] /= int64(g)
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

func (e *blockEncoder) appendScaled(dst []byte, vals []float64, m uint64, p packing, corr uint, unknown []byte) []byte {
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
	code := scaleCode(m, e.pdps)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(p.width|corr<<6|code<<9))
	if code == scaleEscape {
		dst = binary.AppendUvarint(dst, m)
	}
	dst = e.appendLists(dst, len(vals), &p, unknown)
	if e.outliers > 0 {
		dst = append(dst, byte(e.outliers))
		for _, i := range e.outlier[:e.outliers] {
			dst = append(dst, i)
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(vals[i]))
		}
	}
	return e.appendPacked(dst, len(vals), &p, corr)
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

// appendPacked appends the integers and corrections of the block, width+corr bits for each row. The
// first row is in the lowest bits.
func (e *blockEncoder) appendPacked(dst []byte, n int, p *packing, corr uint) []byte {
	width := p.width + corr
	size := (n*int(width) + 7) / 8
	if size == 0 {
		return dst
	}
	at := len(dst)
	dst = slices.Grow(dst, size+8)
	buf := dst[at : at+size+8]
	mask := uint64(1)<<p.width - 1
	var bias int64
	if corr > 0 {
		bias = 1 << (corr - 1)
	}
	// With these start values, row 0 is packed as the low bits of its integer in every mode.
	prev, step := p.base<<p.width, int64(0)
	if p.mode == modeOffset {
		prev = p.base << offsetShift(p.width)
	}
	acc, fill, pos := uint64(0), uint(0), 0
	for i := range n {
		q := e.q[i]
		v := (uint64(q-prev-step)&mask)<<corr | uint64(int64(e.ulp[i])+bias)&(1<<corr-1)
		if p.mode != modeOffset {
			prev, step = q, p.step
		}
		acc |= v << fill
		fill += width
		if fill >= 64 {
			binary.LittleEndian.PutUint64(buf[pos:], acc)
			pos += 8
			fill -= 64
			acc = v >> (width - fill)
		}
	}
	binary.LittleEndian.PutUint64(buf[pos:], acc)
	return dst[:at+size]
}
