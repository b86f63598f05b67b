package rows

import (
	"encoding/binary"
	"math"
)

// uniform reports whether all rows have the same bit pattern, or all are NaN.
func uniform(rows []float64) bool {
	first := rows[0]
	if first != first {
		for _, x := range rows[1:] {
			if x == x {
				return false
			}
		}
		return true
	}
	b := math.Float64bits(first)
	for _, x := range rows[1:] {
		if math.Float64bits(x) != b {
			return false
		}
	}
	return true
}

// appendUniform appends the strip whose rows are all x.
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
