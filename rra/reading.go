package rra

import (
	"github.com/rondo-db/rondo/rra/rpn"
)

// ParseReading is [ParseValue] for text in a buffer that is used again. It parses an integer, or a
// few digits with a point, without an allocation. A text that rrdtool refuses gives a value with
// TagInvalid.
func ParseReading(k Kind, text []byte, texts *[]string) Value {
	if v, ok := PlainReading(k, text); ok {
		return v
	}
	if k != Counter && k != Derive && k != Compute && endsInZero(text) {
		*texts = append(*texts, string(text))
		return Text(len(*texts) - 1)
	}
	v, _ := ParseValue(k, string(text), texts) // the tag says whether there was an error
	return v
}

// endsInZero reports whether text is a decimal number with a point that ends in 0. Such a number is
// kept as text, because FormatReading would print it without the zeros. Many senders print all
// numbers with six decimals.
func endsInZero(text []byte) bool {
	if len(text) == 0 || len(text) > LastReading || text[len(text)-1] != '0' {
		return false
	}
	if text[0] == '-' {
		text = text[1:]
	}
	points := 0
	for _, c := range text {
		if c == '.' {
			points++
		} else if !isDigit(c) {
			return false
		}
	}
	return points == 1
}

// plainDigits is how many significant digits every double holds.
const plainDigits = 15

// PlainReading is ParseReading for U, integers of up to 18 digits and decimal numbers of up to 15.
// It reports whether text is one of these.
func PlainReading(k Kind, text []byte) (Value, bool) {
	digits := text
	if len(text) > 0 && text[0] == '-' {
		digits = text[1:]
	}
	if len(digits) == 0 || len(digits) > plainDigits+4 {
		return Value{}, false
	}
	point := -1
	u := uint64(0)
	for i, c := range digits {
		d := c - '0'
		if d > 9 {
			if c == '.' && point < 0 {
				point = i
				continue
			}
			return Unknown, c == 'U' && len(text) == 1
		}
		u = u*10 + uint64(d)
	}
	negative := len(digits) < len(text)
	if point < 0 {
		if len(digits) > 18 || digits[0] == '0' && len(text) > 1 || negative && k == Counter {
			return Value{}, false
		}
		if negative {
			return Int(-int64(u)), true
		}
		return Int(int64(u)), true
	}
	decimals := len(digits) - 1 - point
	zero := digits[0] == '0' // then 0.…, at least 0.0001
	if point < 1 || decimals < 1 || digits[len(digits)-1] == '0' || zero && (point != 1 || !startsBelow4(digits[2:])) {
		return Value{}, false
	}
	if k == Counter || k == Derive || k == Compute || u == 0 || u >= 1e15 {
		return Value{}, false
	}
	f := float64(u)
	if negative {
		f = -f
	}
	return Float(rpn.Scale(f, -decimals)), true
}

// startsBelow4 reports whether fewer than four zeros begin the decimals.
func startsBelow4(decimals []byte) bool {
	for i, c := range decimals {
		if c != '0' {
			return i < 4
		}
	}
	return false
}
