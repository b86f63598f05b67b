package rra

import (
	"math"
	"strconv"
	"strings"
)

// parseExact is ParseNumber, but also parses hexadecimal numbers, 0x1.8p-3. formatExact prints them
// for doubles that rrdtool's parser cannot produce.
func parseExact(s string) (float64, error) {
	if isHex(s) {
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return v, nil
		}
	}
	return ParseNumber(s)
}

func isHex(s string) bool {
	digits, ok := strings.CutPrefix(strings.TrimPrefix(s, "-"), "0x")
	return ok && strings.Contains(digits, "p")
}

// formatExact prints v in at most width characters such that rrdtool reads the same double. If
// there is no such text it prints v in hexadecimal.
func formatExact(v float64, width int) string {
	if s := string(appendFloat(nil, v)); len(s) <= width && readsAs(s, v) {
		return s
	}
	for precision := range 17 {
		// 1.25e-05 is 125e-7
		e := strconv.FormatFloat(v, 'e', precision, 64)
		digits, exponent, _ := strings.Cut(e, "e")
		x, _ := strconv.Atoi(exponent)
		s := strings.Replace(digits, ".", "", 1) + "e" + strconv.Itoa(x-precision)
		if len(s) <= width && readsAs(s, v) {
			return s
		}
	}
	return strconv.FormatFloat(v, 'x', -1, 64)
}

func readsAs(s string, v float64) bool {
	f, err := ParseNumber(s)
	return err == nil && math.Float64bits(f) == math.Float64bits(v)
}

// leadingInt parses the integer at the start of s, as C's atoi does: 0 if there is none.
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

// scanFloat parses the number at the start of s as C's scanf does, correctly rounded. It returns
// the number of bytes it took; 0: there is no number.
func scanFloat(s string) (v float64, n int) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	for _, word := range []string{"infinity", "infi", "inf", "nan"} {
		if !hasFold(s[i:], word) {
			continue
		}
		if word == "infi" { // scanf does not return to "inf"
			return 0, 0
		}
		v, _ = strconv.ParseFloat(s[:i+3], 64)
		return v, i + 3
	}
	hex := hasFold(s[i:], "0x")
	digit, mark := isDigit, byte('e')
	if hex {
		i += 2
		digit, mark = isHexDigit, 'p'
	}
	digits := 0
	for point := false; i < len(s) && (digit(s[i]) || s[i] == '.' && !point); i++ {
		if s[i] == '.' {
			point = true
		} else {
			digits++
		}
	}
	if digits == 0 {
		return 0, 0
	}
	text := s[:i]
	if i < len(s) && s[i]|0x20 == mark {
		j := i + 1
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		k := j
		for k < len(s) && isDigit(s[k]) {
			k++
		}
		if k > j {
			text = s[:k]
		}
	}
	if hex && len(text) == i {
		text += "p0"
	}
	v, _ = strconv.ParseFloat(text, 64) // out of range: infinity or 0, as with scanf
	return v, len(text)
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// limitWidth is how many characters of a minimum or maximum rrdtool reads: a
// longer minimum does not parse, a longer maximum is cut.
const limitWidth = 18
