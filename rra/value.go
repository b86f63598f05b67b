package rra

import "math"

// A Tag says what the bits of a [Value] mean.
type Tag uint8

// The tags are part of the format of log and state.
const (
	TagUnknown  Tag = iota // no reading
	TagInt                 // Bits is an int64
	TagUint                // Bits is a uint64
	TagFloat               // Bits is an IEEE-754 double
	TagDecimal             // Bits is a decimal number as it was written: digits and decimals
	TagExponent            // Bits is a decimal number as it was written: digits and exponent
	TagText                // Bits is an index into the texts passed along with the value
	TagInvalid             // as TagText, but the text does not parse: the update fails, as in rrdtool
)

// A Value is one reading of one data source. Counters stay integers until they are subtracted:
// above 2^53 a float64 would give other rates.
type Value struct {
	Bits uint64
	Tag  Tag
}

// Unknown is the reading that says that the value is not known.
var Unknown = Value{}

// Int returns v as a reading.
func Int(v int64) Value { return Value{Bits: uint64(v), Tag: TagInt} }

// Uint returns v as a reading.
func Uint(v uint64) Value { return Value{Bits: v, Tag: TagUint} }

// Float returns v as a reading.
func Float(v float64) Value { return Value{Bits: math.Float64bits(v), Tag: TagFloat} }

// Text returns the reading whose text has the index i in the texts of its batch.
func Text(i int) Value { return Value{Bits: uint64(i), Tag: TagText} }
