package rows

import (
	"encoding/binary"
	"slices"
)

// appendPacked appends the integers and corrections of the block, width+corr bits for each row. The
// first row is in the lowest bits. It overwrites e.q.
func (e *blockEncoder) appendPacked(dst []byte, n int, p *packing, corr uint) []byte {
	width := p.width + corr
	size := (n*int(width) + 7) / 8
	if size == 0 {
		return dst
	}
	at := len(dst)
	dst = slices.Grow(dst, size+8)
	e.makeFields(e.q[:n], p)
	if corr > 0 {
		e.addCorrections(n, corr)
	}
	pack(dst[at:at+size+8], &e.q, n, width)
	return dst[:at+size]
}

// makeFields makes the fields of width bits out of the integers q of the block.
func (e *blockEncoder) makeFields(q []int64, p *packing) {
	mask := int64(uint64(1)<<p.width - 1)
	if p.mode == modeOffset {
		start := p.base << offsetShift(p.width)
		for i := range q {
			q[i] = (q[i] - start) & mask
		}
		return
	}
	prev, step := q[0], p.step
	q[0] &= mask // what base says of it are the bits above these
	for i := 1; i < len(q); i++ {
		v := q[i]
		q[i] = (v - prev - step) & mask
		prev = v
	}
}

// addCorrections puts the corrections of n rows below their fields.
func (e *blockEncoder) addCorrections(n int, corr uint) {
	bias, low := int64(1)<<(corr-1), int64(1)<<corr-1
	us := e.ulp[:n]
	for i, q := range e.q[:n] {
		e.q[i] = q<<(corr&7) | (int64(us[i])+bias)&low
	}
}

// pack writes n fields of width bits into buf, which has room for eight bytes more. It overwrites
// the fields.
func pack(buf []byte, fields *[blockRows]int64, n int, width uint) {
	for ; width <= 28 && n > 1; width *= 2 {
		if n&1 != 0 {
			fields[n&(blockRows-1)] = 0
		}
		n = (n + 1) / 2
		for i := range n {
			fields[i&(blockRows-1)] = fields[2*i&(blockRows-1)] | fields[(2*i+1)&(blockRows-1)]<<(width&63)
		}
	}
	if width > 56 {
		packWide(buf, fields[:n], width)
		return
	}
	acc, fill, pos := uint64(0), uint(0), 0
	for _, v := range fields[:n] {
		acc |= uint64(v) << (fill & 63)
		binary.LittleEndian.PutUint64(buf[pos:], acc)
		fill += width
		pos += int(fill >> 3)
		acc >>= fill &^ 7 & 63
		fill &= 7
	}
}

// packWide is pack for fields that may lie in two words.
func packWide(buf []byte, fields []int64, width uint) {
	acc, fill, pos := uint64(0), uint(0), 0
	for _, v := range fields {
		acc |= uint64(v) << (fill & 63)
		fill += width
		if fill >= 64 {
			binary.LittleEndian.PutUint64(buf[pos:], acc)
			pos += 8
			fill -= 64
			acc = uint64(v) >> (width - fill)
		}
	}
	binary.LittleEndian.PutUint64(buf[pos:], acc)
}
