package numeral

import "math"

// Scan reads the integer that a text begins with, as C's strtol does. Base 0 accepts the
// prefixes 0x and 0. used is the number of bytes read; it is 0 if the text begins with no integer.
func Scan[T string | []byte](text T, base int) (v int64, used int, overflow bool) {
	i := 0
	for i < len(text) && (text[i] == ' ' || '\t' <= text[i] && text[i] <= '\r') {
		i++
	}
	negative := false
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		negative = text[i] == '-'
		i++
	}
	if base == 0 {
		base = 10
		if i < len(text) && text[i] == '0' {
			base = 8
			if i+2 < len(text) && text[i+1]|0x20 == 'x' && digit(text[i+2]) < 16 {
				base = 16
				i += 2
			}
		}
	}
	start := i
	for ; i < len(text) && digit(text[i]) < base; i++ {
		d := int64(digit(text[i]))
		if v > (math.MaxInt64-d)/int64(base) {
			overflow = true
			continue
		}
		v = v*int64(base) + d
	}
	if i == start {
		return 0, 0, false
	}
	switch {
	case overflow && negative:
		return math.MinInt64, i, true
	case overflow:
		return math.MaxInt64, i, true
	case negative:
		v = -v
	}
	return v, i, false
}

func digit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}
