package rra

import "math"

// What is added to the difference of two readings if it is negative, and added again if it still
// is: a counter of 32 or of 64 bits has wrapped. As in rrdtool, the sums are one less than 2^32 and
// 2^64.
const (
	wrap32 = 4294967295.0           // 2^32 - 1
	wrap64 = 18446744069414584320.0 // 2^64 - 2^32
)

// unwrap corrects the difference of two COUNTER readings for a wrap of 32 or 64 bits.
func unwrap(diff float64) float64 {
	if diff < 0 {
		diff += wrap32
	}
	if diff < 0 {
		diff += wrap64
	}
	return diff
}

// A change is a reading and the one before it, of one data source.
type change struct {
	kind    Kind
	v, old  Value // only old may be unknown
	texts   []string
	oldText []string
}

// amount returns what the reading adds over iv seconds, and its rate. The text of the error is
// rrdtool's.
func (c *change) amount(iv float64) (n, rate float64, err error) {
	switch c.kind {
	case Gauge:
		rate, err = c.number(c.v, c.texts)
		return float64(rate * iv), rate, err
	case Absolute:
		n, err = c.number(c.v, c.texts)
	case Counter:
		n, err = c.difference()
		n = unwrap(n)
	case Derive:
		n, err = c.difference()
	case DCounter, DDerive:
		// As in rrdtool, a first reading is not parsed.
		if c.old.Tag == TagUnknown {
			return math.NaN(), math.NaN(), nil
		}
		n, err = c.floatDifference()
	}
	return n, n / iv, err
}

// difference returns the reading minus the one before it, for COUNTER and DERIVE.
func (c *change) difference() (float64, error) {
	switch c.v.Tag {
	case TagInt:
		if int64(c.v.Bits) < 0 && c.kind == Counter {
			return 0, checkReading(c.kind, FormatReading(c.v, nil))
		}
	case TagFloat:
		f := math.Float64frombits(c.v.Bits)
		if math.IsNaN(f) {
			return f, nil
		}
		if f <= -1 && c.kind == Counter {
			return 0, checkReading(c.kind, FormatReading(c.v, nil))
		}
	case TagDecimal, TagExponent:
		if err := checkReading(c.kind, FormatReading(c.v, nil)); err != nil {
			return 0, err
		}
	case TagText, TagInvalid:
		if err := checkReading(c.kind, readingText(c.v, c.texts)); err != nil {
			return 0, err
		}
	}
	n := DifferenceValues(c.v, c.old, c.texts, c.oldText)
	if n == 0 && c.v.Tag == TagInt && int64(c.v.Bits) < 0 {
		return math.Copysign(0, -1), nil // rrdtool negates the difference of negative readings
	}
	return n, nil
}

// floatDifference returns the reading minus the one before it, for DCOUNTER and DDERIVE.
func (c *change) floatDifference() (float64, error) {
	v, err := c.number(c.v, c.texts)
	if err != nil {
		return 0, err
	}
	old, err := c.number(c.old, c.oldText)
	if err != nil {
		return 0, err
	}
	if c.kind == DCounter && (v > 0 && old > v || v < 0 && v > old) {
		return math.NaN(), nil
	}
	return v - old, nil
}

// number returns a reading as a double.
func (c *change) number(v Value, texts []string) (float64, error) {
	if v.Tag != TagText && v.Tag != TagInvalid {
		return NumericValue(c.kind, v, nil), nil
	}
	text := readingText(v, texts)
	f, err := ParseNumber(text)
	if err != nil {
		return 0, checkReading(c.kind, text)
	}
	return f, nil
}
