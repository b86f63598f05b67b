package rows

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// plainDecode reads a strip as docs/format-rows.md says it, sentence by sentence and bit by bit.
// ok is false where the page says that the strip is refused.
func plainDecode(src []byte, n int, pdps int64) (rows []float64, used int, ok bool) {
	defer func() {
		if recover() != nil { // a block that ends early
			rows, used, ok = nil, 0, false
		}
	}()
	p := &plainReader{src: slices.Clip(src)} // so that slicing beyond its end panics
	for len(rows) < n {
		left := n - len(rows)
		size := left
		if left > 128 {
			blocks := (left + 127) / 128
			size = (left + blocks - 1) / blocks
		}
		tag := p.byte()
		switch {
		case tag >= 1 && tag <= 4:
			x := 0.0
			switch tag {
			case 1:
				x = math.NaN()
			case 3:
				x = p.double()
			case 4:
				m, valid := p.scale(uint64(p.byte()), pdps)
				q := p.varint()
				if !valid {
					return nil, 0, false
				}
				x = float64(q) / float64(m)
			}
			for range left {
				rows = append(rows, x)
			}
		case tag == 5:
			for range size {
				rows = append(rows, math.NaN())
			}
		case tag == 6:
			for range size {
				rows = append(rows, p.double())
			}
		case tag>>6 == 1 || tag>>6 == 2:
			block, valid := p.block(tag, size, pdps)
			if !valid {
				return nil, 0, false
			}
			rows = append(rows, block...)
		default:
			return nil, 0, false
		}
	}
	return rows, p.pos, true
}

type plainReader struct {
	src []byte
	pos int
}

func (p *plainReader) byte() byte { p.pos++; return p.src[p.pos-1] }

func (p *plainReader) double() float64 {
	p.pos += 8
	return math.Float64frombits(binary.LittleEndian.Uint64(p.src[p.pos-8 : p.pos]))
}

func (p *plainReader) uvarint() uint64 {
	v, k := binary.Uvarint(p.src[p.pos:])
	if k <= 0 {
		panic("uvarint")
	}
	p.pos += k
	return v
}

func (p *plainReader) varint() int64 {
	v := p.uvarint()
	if v%2 == 1 {
		return -int64(v/2) - 1
	}
	return int64(v / 2)
}

func (p *plainReader) scale(code uint64, pdps int64) (m uint64, ok bool) {
	if code == 63 {
		m = p.uvarint()
		return m, m >= 1 && m <= math.MaxUint32
	}
	if code > 127 || code&63 >= 60 {
		return 0, false
	}
	v := big.NewInt([]int64{1, 2, 4, 5, 3, 6, 12, 15, 9, 18, 36, 45}[code&63%12])
	for range code & 63 / 12 {
		v.Mul(v, big.NewInt(10))
	}
	if code&64 != 0 {
		v.Mul(v, big.NewInt(pdps))
	}
	return v.Uint64(), v.Sign() > 0 && v.BitLen() <= 32
}

func (p *plainReader) block(tag byte, n int, pdps int64) (rows []float64, ok bool) {
	scaled, mode := tag>>6 == 1, tag>>4&3
	hasOutliers, hasPatches, hasUnknown := tag&8 != 0, tag&4 != 0, tag&2 != 0
	if mode == 3 || tag&1 != 0 || hasPatches && mode == 0 || hasOutliers && !scaled {
		return nil, false
	}
	word := uint64(p.byte())
	word |= uint64(p.byte()) << 8
	var width, correction, shift, m uint64
	if scaled {
		width, correction, ok = word&63, word>>6&7, true
		if m, ok = p.scale(word>>9, pdps); !ok {
			return nil, false
		}
	} else {
		width, shift = word&127, word>>7&63
		if word>>13 != 0 {
			return nil, false
		}
	}
	if width+correction > 64 {
		return nil, false
	}
	start, step := p.varint(), int64(0)
	switch mode {
	case 0:
		start <<= max(int(width)-4, 0)
	case 1:
		start <<= width
		if width > 0 {
			step = -(1 << (width - 1))
		}
	case 2:
		start <<= width
		step = p.varint()
	}
	unknown := make([]bool, 0, n)
	if hasUnknown {
		for range p.byte() {
			unknown = append(unknown, make([]bool, p.byte())...)
			unknown = append(unknown, slices.Repeat([]bool{true}, int(p.byte()))...)
		}
	}
	if len(unknown) > n {
		return nil, false
	}
	unknown = append(unknown, make([]bool, n-len(unknown))...)
	known := 0
	for _, u := range unknown {
		if !u {
			known++
		}
	}
	if known == 0 {
		return nil, false
	}
	patches := map[int]int64{}
	if hasPatches {
		last := 0
		for range p.byte() {
			i, high := int(p.byte()), p.varint()
			if i <= last || i >= known {
				return nil, false
			}
			last, patches[i] = i, high<<width
		}
	}
	outliers := map[int]float64{}
	if hasOutliers {
		for range p.byte() {
			i, x := int(p.byte()), p.double()
			if i >= known {
				return nil, false
			}
			outliers[i] = x
		}
	}
	at := p.pos * 8
	field := func(k uint64) (v uint64) {
		for i := range k {
			v |= uint64(p.src[at/8]>>(at%8)&1) << i
			at++
		}
		return v
	}
	var q int64
	for i, k := 0, 0; i < n; i++ {
		if unknown[i] {
			rows = append(rows, math.NaN())
			continue
		}
		c, d := field(correction), int64(field(width))
		if mode == 0 || k == 0 {
			q = start + d
		} else {
			q += step + d + patches[k]
		}
		x := math.Float64frombits(bits.RotateLeft64(uint64(q)<<shift, -1))
		if scaled {
			x = float64(q) / float64(m)
			if correction > 0 {
				x = math.Float64frombits(math.Float64bits(x) + c - 1<<(correction-1))
			}
		}
		if y, is := outliers[k]; is {
			x = y
		}
		rows = append(rows, x)
		k++
	}
	p.pos = (at + 7) / 8
	return rows, true
}

// sameAsPlain fails the test unless Decode reads src as the page says.
func sameAsPlain(t testing.TB, src []byte, n int, pdps int64) {
	t.Helper()
	got, used, err := Decode(nil, src, n, pdps)
	want, wantUsed, ok := plainDecode(src, n, pdps)
	if ok != (err == nil) {
		t.Fatalf("%d rows, pdps %d, % x: %v, but the page says accepted=%v", n, pdps, src, err, ok)
	}
	if !ok {
		return
	}
	if used != wantUsed || len(got) != len(want) {
		t.Fatalf("%d rows, pdps %d, % x: %d rows and %d bytes, the page says %d and %d", n, pdps, src, len(got), used, len(want), wantUsed)
	}
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%d rows, pdps %d, % x: row %d is %v, the page says %v", n, pdps, src, i, got[i], want[i])
		}
	}
}

// Strips that no writer makes are read as the page says too.
func TestAsThePageSays(t *testing.T) {
	r := seedtest.Rand(t)
	accepted := 0
	for range 20000 {
		n := 1 + r.IntN(40)
		src := make([]byte, r.IntN(300))
		for i := range src {
			src[i] = byte(r.Uint32() >> r.IntN(8))
		}
		if len(src) > 3 {
			// Headers out of pure chance are mostly refused for one and the same reason.
			src[0] = []byte{0x40, 0x80}[r.IntN(2)] | byte(r.IntN(3))<<4
			if r.IntN(4) == 0 {
				src[0] |= []byte{2, 4, 8}[r.IntN(3)]
			}
			if src[0]&tagSource == tagPattern {
				src[2] &= 0x1f
			}
		}
		if _, _, ok := plainDecode(src, n, 6); ok {
			accepted++
		}
		sameAsPlain(t, src, n, []int64{6, 1, 0, -1, 1 << 31, 1 << 33}[r.IntN(6)])
	}
	if accepted < 1000 {
		t.Errorf("only %d strips were accepted", accepted)
	}
	var h Hint
	for range 1000 {
		rows := mixed(r, 1+r.IntN(300))
		sameAsPlain(t, Append(nil, rows, 6, &h), len(rows), 6)
	}
}
