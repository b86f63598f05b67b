package rows

import (
	"encoding/binary"
	"math"
	"math/bits"
)

func decodeUniform(src []byte, pdps int64) (x float64, used int, err error) {
	switch src[0] {
	case tagUnknownRest:
		return math.NaN(), 1, nil
	case tagZeroRest:
		return 0, 1, nil
	case tagPatternRest:
		if len(src) < 9 {
			return 0, 0, errShort
		}
		return math.Float64frombits(binary.LittleEndian.Uint64(src[1:])), 9, nil
	case tagIntegerRest:
		r := headerReader{src: src, pos: 1}
		m := r.scale(uint(r.byte()), pdps)
		q := unzigzag(r.uvarint())
		if r.err != nil {
			return 0, 0, r.err
		}
		return float64(q) / float64(m), r.pos, nil
	}
	return 0, 0, errHeader
}

// A headerReader reads the fields of a block's header. After the first error it reads zeros.
type headerReader struct {
	src []byte
	pos int
	err error
}

func (r *headerReader) byte() byte {
	if r.pos >= len(r.src) {
		r.fail(errShort)
		return 0
	}
	b := r.src[r.pos]
	r.pos++
	return b
}

func (r *headerReader) uvarint() uint64 {
	if r.pos < len(r.src) && r.src[r.pos] < 0x80 {
		r.pos++
		return uint64(r.src[r.pos-1])
	}
	v, k := binary.Uvarint(r.src[r.pos:])
	if k <= 0 {
		if k == 0 {
			r.fail(errShort)
		} else {
			r.fail(errHeader)
		}
		return 0
	}
	r.pos += k
	return v
}

func (r *headerReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = len(r.src)
}

// bytes returns the next n bytes; nil: there are fewer.
func (r *headerReader) bytes(n int) []byte {
	if n > len(r.src)-r.pos {
		r.fail(errShort)
		return nil
	}
	r.pos += n
	return r.src[r.pos-n : r.pos]
}

// scale returns the scale m of a scale code. The code stands for m, or m follows in the header.
func (r *headerReader) scale(code uint, pdps int64) uint64 {
	var m uint64
	if code == scaleEscape {
		m = r.uvarint()
	} else if code < 2*scalePDPs {
		m = scaleOf(code, pdps)
	}
	if m == 0 || m > maxScale {
		r.fail(errHeader)
		return 1
	}
	return m
}

// A blockHeader is the part of a block before its packed bits.
type blockHeader struct {
	tag         byte
	width, corr uint
	shift       uint   // tagPattern
	scale       uint64 // tagScaled
	base, step  int64
	unknown     []byte       // pairs: known rows, unknown rows
	known       int          // rows that are not unknown
	patches     headerReader // at the first patch
	patchCount  int
	outliers    []byte // 9 bytes each: index and double
	packed      []byte // the packed bits, and up to eight bytes behind them
	used        int    // bytes of the block
}

func (h *blockHeader) parse(src []byte, n int, pdps int64) error {
	r := headerReader{src: src}
	h.tag = r.byte()
	if h.tag&flagSpare != 0 {
		return errHeader
	}
	lo := uint(r.byte())
	word := lo | uint(r.byte())<<8
	switch h.tag & tagSource {
	case tagScaled:
		h.width, h.corr = word&63, word>>6&7
		h.scale = r.scale(word>>9, pdps)
	case tagPattern:
		h.width, h.shift = word&127, word>>7&63
		if word>>13 != 0 || h.tag&flagOutlier != 0 {
			return errHeader
		}
	default:
		return errHeader
	}
	if h.width+h.corr > 64 {
		return errHeader
	}
	base := unzigzag(r.uvarint())
	switch h.tag & tagMode {
	case modeOffset:
		h.base = base << offsetShift(h.width)
		if h.tag&flagPatch != 0 {
			return errHeader
		}
	case modeDelta:
		h.base, h.step = base<<h.width, deltaBias(h.width)
	case modeDrift:
		h.base, h.step = base<<h.width, unzigzag(r.uvarint())
	default:
		return errHeader
	}
	if err := h.lists(&r, n); err != nil {
		return err
	}
	if r.err != nil {
		return r.err
	}
	size := (h.known*int(h.width+h.corr) + 7) / 8
	if size > len(src)-r.pos {
		return errShort
	}
	h.packed = src[r.pos:min(r.pos+size+8, len(src))]
	h.used = r.pos + size
	return nil
}

// lists reads the lists of unknown rows, patches and outliers of a block of n rows.
func (h *blockHeader) lists(r *headerReader, n int) error {
	h.known = n
	if h.tag&flagUnknown != 0 {
		h.unknown = r.bytes(2 * int(r.byte()))
		total := 0
		for i := 0; i < len(h.unknown); i += 2 {
			total += int(h.unknown[i]) + int(h.unknown[i+1])
			h.known -= int(h.unknown[i+1])
		}
		if total > n || h.known < 1 {
			return errHeader
		}
	}
	if h.tag&flagPatch != 0 {
		h.patchCount = int(r.byte())
		h.patches = *r
		for last, i := 0, 0; i < h.patchCount; i++ {
			at := int(r.byte())
			r.uvarint()
			if at <= last || at >= h.known {
				r.fail(errHeader)
				break
			}
			last = at
		}
	}
	if h.tag&flagOutlier != 0 {
		h.outliers = r.bytes(9 * int(r.byte()))
		for i := 0; i < len(h.outliers); i += 9 {
			if int(h.outliers[i]) >= h.known {
				return errHeader
			}
		}
	}
	return nil
}

// decodeBlock decodes a block of n rows into out, which has room for n rows. If out is nil it skips
// the block.
func decodeBlock(out []float64, src []byte, n int, pdps int64) (used int, err error) {
	switch src[0] {
	case tagUnknownBlock:
		for i := range out {
			out[i] = math.NaN()
		}
		return 1, nil
	case tagRawBlock:
		if len(src) < 1+8*n {
			return 0, errShort
		}
		for i := range out {
			out[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[1+8*i:]))
		}
		return 1 + 8*n, nil
	}
	var h blockHeader
	if err := h.parse(src, n, pdps); err != nil {
		return 0, err
	}
	if out == nil {
		return h.used, nil
	}
	vals := out[n-h.known:]
	h.unpack(vals)
	for i := 0; i < len(h.outliers); i += 9 {
		vals[h.outliers[i]] = math.Float64frombits(binary.LittleEndian.Uint64(h.outliers[i+1:]))
	}
	// The known rows are at the end of out. Move each to its place, beginning with the first.
	at := 0
	for i := 0; i < len(h.unknown); i += 2 {
		k := int(h.unknown[i])
		copy(out[at:at+k], vals[:k])
		vals = vals[k:]
		at += k
		for range h.unknown[i+1] {
			out[at] = math.NaN()
			at++
		}
	}
	return h.used, nil
}

// unpack fills vals with the rows that are not unknown.
func (h *blockHeader) unpack(vals []float64) {
	q := h.base - h.step // span adds the step to the first row too, which has none
	bit := uint(0)
	done := 0
	for range h.patchCount {
		at := int(h.patches.byte())
		high := unzigzag(h.patches.uvarint())
		q = h.span(vals[done:at], bit, q)
		bit += uint(at-done) * (h.width + h.corr)
		q += high << h.width
		done = at
	}
	h.span(vals[done:], bit, q)
}

// span decodes the rows of vals, whose packed bits begin at bit. q is the integer before them. It
// returns the integer before the next row.
func (h *blockHeader) span(vals []float64, bit uint, q int64) int64 {
	width := h.width + h.corr
	if width > 57 { // a word read at a byte may not hold all bits of a row
		for i := range vals {
			vals[i], q = h.value(bitsAt(h.packed, bit, width), q)
			bit += width
		}
		return q
	}
	fast := 0 // rows for which eight bytes of packed can be read
	if end := len(h.packed)*8 - 57; end >= int(bit) {
		fast = len(vals)
		if width > 0 {
			fast = min(fast, (end-int(bit))/int(width)+1)
		}
	}
	q = h.words(vals[:fast], h.packed, bit, q)
	if fast < len(vals) {
		var last [16]byte
		bit += uint(fast) * width
		copy(last[:], h.packed[bit>>3:])
		q = h.words(vals[fast:], last[:], bit&7, q)
	}
	return q
}

// words is span for widths up to 57 and a src that has eight bytes from the first byte of each row
// on.
func (h *blockHeader) words(vals []float64, src []byte, bit uint, q int64) int64 {
	width, corr := h.width+h.corr, h.corr&7
	mask, low := uint64(1)<<(width&63)-1, uint64(1)<<corr-1
	if h.tag&tagSource != tagScaled {
		for i := range vals {
			vals[i], q = h.value(binary.LittleEndian.Uint64(src[bit>>3:])>>(bit&7)&mask, q)
			bit += width
		}
		return q
	}
	m, bias := float64(h.scale), low>>1+low&1
	if h.tag&tagMode == modeOffset {
		for i := range vals {
			v := binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7) & mask
			bit += width
			x := float64(q+int64(v>>corr)) / m
			vals[i] = math.Float64frombits(math.Float64bits(x) + v&low - bias)
		}
		return q
	}
	step := h.step
	for i := range vals {
		v := binary.LittleEndian.Uint64(src[bit>>3:]) >> (bit & 7) & mask
		bit += width
		q += step + int64(v>>corr)
		vals[i] = math.Float64frombits(math.Float64bits(float64(q)/m) + v&low - bias)
	}
	return q
}

// value returns the row with the packed bits v after the integer q, and the integer before the next
// row.
func (h *blockHeader) value(v uint64, q int64) (x float64, next int64) {
	r := q + h.step + int64(v>>h.corr)
	next = r
	if h.tag&tagMode == modeOffset {
		next = q
	}
	if h.tag&tagSource == tagPattern {
		return math.Float64frombits(bits.RotateLeft64(uint64(r)<<h.shift, -1)), next
	}
	b := math.Float64bits(float64(r) / float64(h.scale))
	return math.Float64frombits(b + v&(1<<h.corr-1) - 1<<h.corr>>1), next
}

// bitsAt returns width bits of src from bit on. Bits past the end of src are 0.
func bitsAt(src []byte, bit, width uint) uint64 {
	off, in := int(bit>>3), bit&7
	var v, next uint64
	if off+9 <= len(src) {
		v = binary.LittleEndian.Uint64(src[off:])
		next = uint64(src[off+8])
	} else {
		for i, b := range src[min(off, len(src)):] {
			if i == 8 {
				next = uint64(b)
				break
			}
			v |= uint64(b) << (8 * i)
		}
	}
	v = v>>in | next<<(64-in)
	return v & (1<<width - 1)
}
