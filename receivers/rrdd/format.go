package rrdd

import (
	"math"

	"github.com/rondo-db/rondo/rra"
)

// A file begins with magic; in version 1 a line feed follows. Readers of version 2 also accept
// magicOld, the spelling of the page that first described the format.
const (
	magic    = "DATASOURCES"
	magicOld = "Datasources"
)

// Offsets in a file of version 1. They are part of the format.
const (
	v1Length = 12 // 8 hexadecimal digits
	v1Sum    = 21 // 32 hexadecimal digits
	v1Text   = 54 // JSON
)

// Offsets in a file of version 2. They are part of the format.
const (
	v2DataSum = 11 // CRC-32 of the timestamp and the values
	v2MetaSum = 15 // CRC-32 of the metadata
	v2Count   = 19 // of data sources
	v2Time    = 23 // IEEE double, or int64
	v2Values  = 31 // 8 bytes each; then 4 bytes of length, and the metadata
)

// openSum is the checksum of the data that rrd-client-lib writes, with a count of 0, before the
// first sample.
const openSum = 0x01234567

// The limits of a file.
const (
	MaxFile    = 1 << 20 // bytes that its headers may announce
	MaxSources = 10_000  // data sources
	maxDepth   = 32      // of objects and arrays in each other
)

// A Type is a file's word for what the readings of a data source are.
type Type uint8

// The types. Since 2016 writers say Gauge, Absolute and Derive. Before, the same types were called
// Absolute, Rate and AbsoluteToRate. So the meaning of Absolute depends on the file: see legacy.
const (
	Absolute       Type = iota // count since the last reading; before 2016 a plain measurement
	Gauge                      // a plain measurement
	Derive                     // a running total
	Rate                       // before 2016: count since the last reading
	AbsoluteToRate             // before 2016: a running total
)

var typeWords = []string{"absolute", "gauge", "derive", "rate", "absolute_to_rate"}

// String returns the word.
func (t Type) String() string { return wordOf(typeWords, int(t)) }

// A ValueType is how the values of a data source are written.
type ValueType uint8

// The value types.
const (
	Float ValueType = iota // IEEE double
	Int64
)

var valueTypeWords = []string{"float", "int64"}

// String returns the word.
func (v ValueType) String() string { return wordOf(valueTypeWords, int(v)) }

// An Owner is what kind of thing a data source belongs to.
type Owner uint8

// The owners.
const (
	Host Owner = iota
	VM         // the virtual machine Source.UUID
	SR         // the storage repository Source.UUID
)

var ownerWords = []string{"host", "vm", "sr"}

// String returns the word.
func (o Owner) String() string { return wordOf(ownerWords, int(o)) }

// A Transform is what the daemon does to a rate before it stores it.
type Transform uint8

// The transforms.
const (
	Identity Transform = iota
	Inverse            // it stores 1 − rate; rondo keeps the word as a label
)

var transformWords = []string{"identity", "inverse"}

// String returns the word.
func (t Transform) String() string { return wordOf(transformWords, int(t)) }

var boolWords = []string{"false", "true"}

func wordOf(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return "unknown"
}

// A Source is what a file says of one data source.
type Source struct {
	Name        string
	Type        Type
	ValueType   ValueType
	Owner       Owner
	UUID        string // of the owner; empty for Host
	Description string
	Units       string
	// Min and Max are the limits of the rate, or of the measurement. If Min is not below Max, as in
	// the zero value, there are no limits. An infinity means no limit on its side.
	Min, Max  float64
	Default   bool // the daemon stores it without being asked to
	Transform Transform
}

// unbounded returns s with infinities in place of limits that mean no limit.
func (s Source) unbounded() Source {
	if math.IsNaN(s.Min) || math.IsInf(s.Min, 1) {
		s.Min = math.Inf(-1)
	}
	if math.IsNaN(s.Max) || math.IsInf(s.Max, -1) {
		s.Max = math.Inf(1)
	}
	if s.Min >= s.Max {
		s.Min, s.Max = math.Inf(-1), math.Inf(1)
	}
	return s
}

// A File is the content of a plugin's file.
type File struct {
	// Version is 1 or 2; 0 is 2.
	Version int
	// Timestamp is in seconds since 1970.
	Timestamp float64
	// Sources are in the order of the file.
	Sources []Source
	// Values has one value for each of Sources: an integer where that is Int64, else a double.
	Values []rra.Value
}

// legacy reports whether a file uses the words from before 2016, when absolute was a plain
// measurement. It does if a data source says rate or absolute_to_rate, or if none says gauge or
// derive.
func legacy(sources []Source) bool {
	modern := false
	for i := range sources {
		switch sources[i].Type {
		case Rate, AbsoluteToRate:
			return true
		case Gauge, Derive:
			modern = true
		}
	}
	return !modern
}
