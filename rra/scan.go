package rra

import (
	"math"
	"strconv"
)

// leadingInt reads the integer at the start of s, as C's atoi; 0 if there is none.
func leadingInt(s string) int {
	i := 0
	for i < len(s) && (s[i] == ' ' || '\t' <= s[i] && s[i] <= '\r') {
		i++
	}
	j := i
	if j < len(s) && (s[j] == '-' || s[j] == '+') {
		j++
	}
	for j < len(s) && isDigit(s[j]) {
		j++
	}
	v, _ := strconv.ParseInt(s[i:j], 10, 64)
	return int(int32(v))
}

// scanDecimal reads the number at the start of s correctly rounded, as C's scanf
// does, and says how many bytes it took; 0 if there is none.
func scanDecimal(s string) (v float64, n int) {
	for n = len(s); n > 0; n-- {
		v, err := strconv.ParseFloat(s[:n], 64)
		if err == nil || math.IsInf(v, 0) {
			return v, n
		}
	}
	return 0, 0
}
