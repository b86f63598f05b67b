package rra

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/rra/rpn"
)

// LastReading is how many bytes of a reading's text rrdtool remembers and prints as last_ds.
const LastReading = 29

// ParseNumber parses a number as rrdtool 1.7.2 does for values of GAUGE, ABSOLUTE, DCOUNTER and
// DDERIVE and for limits of data sources.
//
// It uses [rpn.ScanNumber]: the result is not correctly rounded, because rrdtool's is not. Valid
// are an exponent without digits ("1e", "1e+"), leading blanks, and any text that begins with nan,
// inf, -nan or -inf, ignoring case. Not valid are trailing characters, and exponents outside -1021
// … 1024. The text of the error is rrdtool's.
func ParseNumber(text string) (float64, error) {
	if hasFold(text, "nan") || hasFold(text, "-nan") {
		return math.NaN(), nil
	}
	if hasFold(text, "inf") {
		return math.Inf(1), nil
	}
	if hasFold(text, "-inf") {
		return math.Inf(-1), nil
	}
	v, n := rpn.ScanNumber(text)
	if n == 0 {
		return 0, refuse("Cannot convert '%s' to float", text)
	}
	if n < len(text) {
		return 0, refuse("Converted '%s' to %s, but cannot convert '%s'", text, printf(v), text[n:])
	}
	return v, nil
}

func printf(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-nan" // what 0 times infinity prints as on rrdtool's machines
	case math.IsInf(v, 0):
		return string(appendFloat(nil, v))
	}
	return strconv.FormatFloat(v, 'f', 6, 64)
}

// hasFold reports whether s begins with the lower-case prefix, in any case.
func hasFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// ParseValue parses one reading of a data source of kind k as `rrdtool update` does. Integers and
// decimal numbers, with or without an exponent, become a value without a text. Any other text is
// appended to texts, and the value refers to it. [FormatReading] prints the text again.
//
// A text that rrdtool refuses gives rrdtool's error, and a value with TagInvalid that refers to the
// text. Only the [Machine] knows whether the error matters: rrdtool does not parse the text if the
// heartbeat has passed.
//
// The whole text is appended, because all of it counts in the arithmetic. Afterwards only its first
// [LastReading] bytes are remembered.
func ParseValue(k Kind, text string, texts *[]string) (Value, error) {
	if len(text) <= maxPlain {
		if v, ok := PlainReading(k, []byte(text)); ok {
			return v, nil
		}
	}
	return parseOther(k, text, texts)
}

// parseOther is ParseValue for what PlainReading does not parse.
func parseOther(k Kind, text string, texts *[]string) (Value, error) {
	if v, ok := parseInteger(text); ok && (k != Counter || v.Tag != TagInt || int64(v.Bits) >= 0) {
		return v, nil
	}
	keep := func(tag Tag) Value {
		*texts = append(*texts, text)
		return Value{Bits: uint64(len(*texts) - 1), Tag: tag}
	}
	if len(text) > 0 && text[0] == 'U' {
		return keep(TagText), nil
	}
	if !hasDecimals(k) {
		if err := checkReading(k, text); err != nil {
			return keep(TagInvalid), err
		}
		return keep(TagText), nil
	}
	if v, ok := wordReading(text); ok {
		return v, nil
	}
	if _, err := ParseNumber(text); err != nil {
		return keep(TagInvalid), checkReading(k, text)
	}
	return keep(TagText), nil
}

// wordReading returns the double that [FormatReading] prints as one of these texts.
func wordReading(text string) (Value, bool) {
	switch text {
	case "nan":
		return Float(math.NaN()), true
	case "inf":
		return Float(math.Inf(1)), true
	case "-inf":
		return Float(math.Inf(-1)), true
	case "-0":
		return Float(math.Copysign(0, -1)), true
	}
	return Value{}, false
}

// checkReading returns rrdtool's error for a text that is not a reading of kind k.
func checkReading(k Kind, text string) error {
	switch k {
	case Counter:
		for i := range len(text) {
			if !isDigit(text[i]) {
				return refuse("not a simple unsigned integer: '%s'", text)
			}
		}
		return nil
	case Derive:
		for i := range len(text) {
			if !isDigit(text[i]) && (i != 0 || text[i] != '-') {
				return refuse("not a simple signed integer: '%s'", text)
			}
		}
		return nil
	case Compute:
		return errors.New("a COMPUTE data source takes no reading")
	}
	if _, err := ParseNumber(text); err != nil {
		return refuse("Function update_pdp_prep, case DST_%s - %v", k, err)
	}
	return nil
}

// parseInteger parses a decimal integer of at most 64 bits without superfluous zeros.
func parseInteger(s string) (v Value, ok bool) {
	if len(s) > 20 || strings.Trim(s, "-0123456789") != "" { // an error of strconv costs more
		return v, false
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		v = Int(i)
	} else if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		v = Uint(u)
	}
	return v, FormatReading(v, nil) == s
}

// FormatReading returns the text of a reading as rrdtool keeps and prints it (last_ds): the text
// that was given, cut to [LastReading] bytes. For a double that came without a text it is the
// shortest text that rrdtool reads as this double. If there is none, because rrdtool's parser
// cannot produce the double, it is the shortest text that a correct parser reads so.
func FormatReading(v Value, texts []string) string {
	switch v.Tag {
	case TagInt:
		return strconv.FormatInt(int64(v.Bits), 10)
	case TagUint:
		return strconv.FormatUint(v.Bits, 10)
	case TagFloat:
		return string(appendFloat(nil, math.Float64frombits(v.Bits)))
	case TagDecimal, TagExponent:
		return cutReading(string(appendDecimal(nil, v)))
	case TagText, TagInvalid:
		return cutReading(readingText(v, texts))
	}
	return "U"
}

// cutReading returns the part of a reading's text that rrdtool remembers.
func cutReading(s string) string { return s[:min(len(s), LastReading)] }

// readingText returns the whole text of a reading that was kept as text.
func readingText(v Value, texts []string) string {
	if v.Bits < uint64(len(texts)) {
		return texts[v.Bits]
	}
	return "U"
}

// appendFloat appends the text of a double as [FormatReading] prints it.
func appendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	}
	for precision := 1; precision <= 17; precision++ {
		n := len(dst)
		dst = appendDigits(dst, f, precision)
		if g, k := rpn.ScanNumber(string(dst[n:])); k == len(dst)-n && g == f {
			return dst
		}
		dst = dst[:n]
	}
	return appendDigits(dst, f, -1)
}

// appendDigits prints f with precision significant digits; -1: as many as are needed. It prints an
// exponent if C's %.15g would print one, except for integers of less than 22 digits.
func appendDigits(dst []byte, f float64, precision int) []byte {
	var buf [32]byte
	e := strconv.AppendFloat(buf[:0], f, 'e', precision-min(precision, 1), 64)
	if precision < 0 {
		e = strconv.AppendFloat(buf[:0], f, 'e', -1, 64)
	}
	mark := len(e) - 1
	for e[mark] != 'e' {
		mark--
	}
	exponent, _ := strconv.Atoi(string(e[mark+1:]))
	if exponent < -4 || exponent > 20 {
		return append(dst, e...)
	}
	if e[0] == '-' {
		dst = append(dst, '-')
		e, mark = e[1:], mark-1
	}
	digits := e[:1]
	if mark > 2 {
		copy(e[1:], e[2:mark])
		digits = e[:mark-1]
	}
	if exponent < 0 {
		dst = append(dst, "0.0000"[:1-exponent]...)
		return append(dst, digits...)
	}
	for i := 0; i <= exponent || i < len(digits); i++ {
		if i == exponent+1 {
			dst = append(dst, '.')
		}
		if i < len(digits) {
			dst = append(dst, digits[i])
		} else {
			dst = append(dst, '0')
		}
	}
	return dst
}

// isUnknown reports whether a reading is unknown: U, or a text that begins with U.
func isUnknown(v Value, texts []string) bool {
	if v.Tag != TagText {
		return v.Tag == TagUnknown
	}
	s := readingText(v, texts)
	return len(s) > 0 && s[0] == 'U'
}

// NumericValue returns a reading as the double that rrdtool computes with; NaN if it is unknown.
// For COUNTER and DERIVE it is only good for display: [DifferenceValues] is their arithmetic.
func NumericValue(k Kind, v Value, texts []string) float64 {
	switch v.Tag {
	case TagInt:
		i := int64(v.Bits)
		if i < 0 {
			return -accumulate(uint64(-i))
		}
		return accumulate(uint64(i))
	case TagUint:
		return accumulate(v.Bits)
	case TagFloat:
		return math.Float64frombits(v.Bits)
	case TagDecimal, TagExponent:
		return decimalNumber(v)
	case TagText:
		if !isUnknown(v, texts) {
			f, err := ParseNumber(readingText(v, texts))
			if err == nil {
				return f
			}
		}
	}
	return math.NaN()
}

// accumulate converts u to a double as rrdtool does: for each decimal digit it multiplies by ten
// and adds.
func accumulate(u uint64) float64 {
	if u <= 1<<53 {
		return float64(u)
	}
	var buf [20]byte
	f := 0.0
	for _, c := range strconv.AppendUint(buf[:0], u, 10) {
		f = float64(f*10) + float64(c-'0')
	}
	return f
}
