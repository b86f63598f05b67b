package rra

import (
	"math"
	"math/bits"
	"strconv"
)

// maxCounterDigits is the longest decimal string that rrdtool subtracts.
const maxCounterDigits = 30

// difference returns new − old of two COUNTER or DERIVE readings given as text. As rrdtool does, it
// subtracts digit by digit, and converts only the result to a double: for each digit it multiplies
// by ten and adds. The result is NaN if a text has no digit or more than 30, or if one reading is
// negative and the other is not (0 is not negative, -0 is). Only the first run of digits of a text
// counts, and a minus sign before it.
func difference(new, old string) float64 {
	a, aNegative := counterDigits(new)
	b, bNegative := counterDigits(old)
	if len(a) == 0 || len(b) == 0 || len(a) > maxCounterDigits || len(b) > maxCounterDigits || aNegative != bNegative {
		return math.NaN()
	}
	var x, y [maxCounterDigits]byte // digits, right-aligned
	copy(x[maxCounterDigits-len(a):], a)
	copy(y[maxCounterDigits-len(b):], b)
	negative := aNegative
	for i := range x {
		x[i] &= 0x0f
		y[i] &= 0x0f
	}
	for i := range x {
		if x[i] != y[i] {
			if x[i] < y[i] {
				x, y = y, x
				negative = !negative
			}
			break
		}
	}
	borrow := byte(0)
	for i := maxCounterDigits - 1; i >= 0; i-- {
		d := x[i] - y[i] - borrow
		borrow = 0
		if d > 9 {
			d += 10
			borrow = 1
		}
		x[i] = d
	}
	f := 0.0
	for _, d := range x {
		f = float64(f*10) + float64(d)
	}
	if negative {
		return -f
	}
	return f
}

// counterDigits returns the first run of digits in s, and whether a minus sign
// stands before it.
func counterDigits(s string) (digits string, negative bool) {
	i := 0
	for ; i < len(s) && !isDigit(s[i]); i++ {
		negative = negative || s[i] == '-'
	}
	j := i
	for j < len(s) && isDigit(s[j]) {
		j++
	}
	return s[i:j], negative
}

// DifferenceValues is difference of two readings. newTexts and oldTexts are the texts that they
// refer to. Integers are subtracted without being printed. The result is NaN if either reading is
// unknown.
func DifferenceValues(new, old Value, newTexts, oldTexts []string) float64 {
	if isInteger(new) && isInteger(old) {
		return integerDifference(new, old)
	}
	if isUnknown(new, newTexts) || isUnknown(old, oldTexts) {
		return math.NaN()
	}
	return difference(wholeText(new, newTexts), wholeText(old, oldTexts))
}

func isInteger(v Value) bool { return v.Tag == TagInt || v.Tag == TagUint }

// wholeText is FormatReading, but does not cut the text: all of a new reading counts.
func wholeText(v Value, texts []string) string {
	switch v.Tag {
	case TagText, TagInvalid:
		return readingText(v, texts)
	case TagFloat: // from a protocol that sends counters as doubles
		return strconv.FormatFloat(math.Trunc(math.Float64frombits(v.Bits)), 'f', 0, 64)
	}
	return FormatReading(v, nil)
}

func integerDifference(new, old Value) float64 {
	newNegative := new.Tag == TagInt && int64(new.Bits) < 0
	if newNegative != (old.Tag == TagInt && int64(old.Bits) < 0) {
		return math.NaN()
	}
	// Both have the same sign: the difference of the bits equals the numbers'.
	d, borrow := bits.Sub64(new.Bits, old.Bits, 0)
	if borrow != 0 {
		return -accumulate(-d)
	}
	return accumulate(d)
}
