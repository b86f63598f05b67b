package rrdcached

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"

	"github.com/rondo-db/rondo/query/rrd/numeral"
)

// unknownBits are the bits of the unknown value that rrdtool produces on x86-64, where it prints
// -nan.
const unknownBits = 0xfff8000000000000

func bitsOf(v float64) uint64 {
	if v != v {
		return unknownBits
	}
	return math.Float64bits(v)
}

// advance adds step to the decimal number that text ends with. It returns false if the number would
// become longer.
func advance(text []byte, step uint64) bool {
	for i := len(text) - 1; step > 0; i-- {
		if i < 0 || text[i]-'0' > 9 {
			return false
		}
		step += uint64(text[i] - '0')
		text[i] = '0' + byte(step%10)
		step /= 10
	}
	return true
}

// appendValue appends v as C's %0.17e prints it; an unknown value is -nan.
func appendValue(dst []byte, v float64) []byte {
	if dst, ok := appendExact(dst, v); ok {
		return dst
	}
	return numeral.AppendC(dst, v, "-nan", 'e', 17)
}

// One multiplication gives the digits of nearly every value. v is m·2^e with m below 2^53. Its
// first 18 digits are the integer part of m·5^k·2^(e+k), for the k that gives 18 digits. m·5^k is
// exact in 128 bits up to k = 27. The bits that are shifted out decide on rounding.

const maxFive = 27

var fives = func() (f [maxFive + 1]uint64) {
	f[0] = 1
	for k := 1; k <= maxFive; k++ {
		f[k] = f[k-1] * 5
	}
	return f
}()

// tens are the powers of ten up to 1e17, which doubles hold exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17}

const (
	digits17 = 100_000_000_000_000_000
	digits18 = 1_000_000_000_000_000_000
)

// appendExact appends v as C's %0.17e prints it, if v is 0 or between 1e-10 and 1e17. Otherwise it
// returns false.
func appendExact(dst []byte, v float64) ([]byte, bool) {
	b := math.Float64bits(v)
	exponent := int(b>>52&0x7ff) - 1075
	m := b&(1<<52-1) | 1<<52
	if b<<1 == 0 {
		return append(appendSign(dst, b), "0.00000000000000000e+00"...), true
	}
	if exponent < -86 || exponent > 4 {
		return dst, false
	}
	// 1233/4096 is about log10(2), so p is the power of ten or one below it.
	p := (exponent + 52) * 1233 >> 12
	if p+1 >= 0 && p+1 < len(tens) && math.Abs(v) >= tens[p+1] {
		p++
	}
	q, k := uint64(0), 0
	for {
		if k = 17 - p; k < 0 || k > maxFive {
			return dst, false
		}
		shift := -(exponent + k)
		if shift < 1 || shift > 127 {
			return dst, false
		}
		hi, lo := bits.Mul64(m, fives[k])
		var rest, half bool // the bits that are shifted out: whether any is set, and the first one
		if shift >= 64 {
			q = hi >> (shift - 64)
			if shift > 64 {
				half = hi>>(shift-65)&1 != 0
				rest = hi&(1<<(shift-65)-1) != 0 || lo != 0
			} else {
				half, rest = lo>>63 != 0, lo<<1 != 0
			}
		} else {
			if hi>>shift != 0 {
				p++
				continue
			}
			q = hi<<(64-shift) | lo>>shift
			half = lo>>(shift-1)&1 != 0
			rest = lo&(1<<(shift-1)-1) != 0
		}
		if half && (rest || q&1 != 0) {
			q++
		}
		if q >= digits18 {
			p++
			continue
		}
		break
	}
	if q < digits17 {
		return dst, false
	}
	return appendDigits(appendSign(dst, b), q, p), true
}

func appendSign(dst []byte, b uint64) []byte {
	if b>>63 != 0 {
		return append(dst, '-')
	}
	return dst
}

// appendDigits appends 18 digits and an exponent of two digits.
func appendDigits(dst []byte, q uint64, p int) []byte {
	const size, half = 23, 100_000_000
	n := len(dst)
	dst = slices.Grow(dst, size)[:n+size]
	t := dst[n:]
	top := q / (half * half)
	rest := q - top*(half*half)
	high := rest / half
	t[0], t[1], t[2] = '0'+byte(top/10), '.', '0'+byte(top%10)
	binary.LittleEndian.PutUint64(t[3:], eight(high))
	binary.LittleEndian.PutUint64(t[11:], eight(rest-high*half))
	t[19], t[20] = 'e', '+'
	if p < 0 {
		t[20] = '-'
		p = -p
	}
	t[21], t[22] = '0'+byte(p/10), '0'+byte(p%10)
	return dst
}

// eight returns the eight digits of v, which is below 10^8, with the first digit in the lowest
// byte. It splits v into halves, quarters and digits that lie in lanes of one word, so that one
// division works on all lanes.
func eight(v uint64) uint64 {
	high := v / 10_000
	x := high | (v-high*10_000)<<32
	hundreds := x * 10486 >> 20 & 0x7f_0000_007f
	x = hundreds | (x-hundreds*100)<<16
	tens := x * 103 >> 10 & 0xf_000f_000f_000f
	return tens | (x-tens*10)<<8 | 0x3030_3030_3030_3030
}
