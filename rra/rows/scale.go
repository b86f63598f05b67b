package rows

import (
	"math"
	"math/bits"
)

// The scale m of most blocks is f*10^p, or f*10^p times the number of primary data points in a row,
// where f is one of scaleFactors and p is at most 4. Its scale code is part of the format: bits 0
// to 5 are p*12 + index of f, bit 6 says "times pdpsPerRow". The code scaleEscape means that
// another m follows.
const (
	scalePDPs   = 1 << 6
	scaleEscape = 63
)

var (
	scaleFactors = [12]uint64{1, 2, 4, 5, 3, 6, 12, 15, 9, 18, 36, 45}
	scalePowers  = [5]uint64{1, 10, 100, 1000, 10000}
)

// scaleCode returns the code of m, or scaleEscape.
func scaleCode(m uint64, pdps int64) uint {
	if pdps > 1 && m%uint64(pdps) == 0 {
		if c := plainScaleCode(m / uint64(pdps)); c != scaleEscape {
			return c | scalePDPs
		}
	}
	return plainScaleCode(m)
}

func plainScaleCode(m uint64) uint {
	p := uint(0)
	for p < 4 && m%10 == 0 {
		m /= 10
		p++
	}
	for i, f := range scaleFactors {
		if m == f {
			return p*12 + uint(i)
		}
	}
	return scaleEscape
}

// scaleOf returns the scale of a code other than scaleEscape; 0: the code is not valid.
func scaleOf(code uint, pdps int64) uint64 {
	c := code &^ scalePDPs
	if c >= 60 {
		return 0
	}
	m := scaleFactors[c%12] * scalePowers[c/12]
	if code&scalePDPs != 0 {
		if pdps < 1 || pdps > maxScale {
			return 0
		}
		m *= uint64(pdps)
	}
	if m > maxScale {
		return 0
	}
	return m
}

// Adding roundMagic, 1.5·2^52, to a double below 2^51 rounds it to an integer, which is then the
// low bits of the sum.
const (
	roundMagic     = 3 << 51
	roundMagicBits = 0x4338000000000000
	maxInteger     = 1 << 50
)

// scaleTo returns q = round(x*m), and by how many units in the last place x is larger than q/m. ok
// is false if x cannot be coded so: it is NaN, infinite, -0 or too large, or differs too much from
// q/m.
func scaleTo(x, m float64) (q, ulp int64, ok bool) {
	q = int64(math.Float64bits(float64(x*m)+roundMagic)) - roundMagicBits
	ulp = int64(math.Float64bits(x) - math.Float64bits(float64(q)/m))
	const half = 1 << (maxCorrection - 1)
	return q, ulp, uint64(ulp+half) < 2*half && uint64(q+maxInteger) <= 2*maxInteger
}

// findScale looks for a scale that turns most of vals into integers. It tries large scales with
// many divisors; the caller divides the scale by what the integers have in common with it.
func findScale(vals []float64, pdps int64) (m uint64, ok bool) {
	const samples = 8
	var sample [samples]float64
	n := min(len(vals), samples)
	largest := 0.0
	for i := range n {
		x := vals[i*len(vals)/n]
		sample[i] = x
		if a := math.Abs(x); a > largest && a < maxInteger {
			largest = a
		}
	}
	p := uint64(1)
	if pdps > 1 && pdps < 1<<20 {
		p = uint64(pdps)
	}
	tried := uint64(0)
	// 27720 is 5*7*8*9*11, for counters whose readings are sometimes one to three seconds early or
	// late in a step of 10 s.
	for _, f := range [...]uint64{36 * p, p, 36, 1, 27720 * p} {
		const limit = 1 << 43 // with larger integers too many doubles would fit by chance
		top := f
		for range 6 {
			if top*10 > maxScale || largest*float64(top*10) > limit {
				break
			}
			top *= 10
		}
		if top == tried || top > maxScale || (largest*float64(top) > limit && top > 1) {
			continue
		}
		tried = top
		miss := 0
		for i := 0; i < n && miss <= n/4; i++ {
			if _, _, ok := scaleTo(sample[i], float64(top)); !ok {
				miss++
			}
		}
		if miss <= n/4 {
			return top, true
		}
	}
	return 0, false
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func abs64(v int64) uint64 {
	if v < 0 {
		return uint64(-v)
	}
	return uint64(v)
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
