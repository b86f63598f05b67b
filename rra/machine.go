package rra

// A Run is count equal rows of one data source in one stream of rows.
// Row k of a stream with n primary data points a row and step s ends at the time k*n*s.
type Run struct {
	Stream int32 // index into Machine.Streams
	DS     int32
	First  int64 // k of the first row
	Count  int64 // rows
	Value  float64
}

// A Stream is rows that one or more archives share: all archives with one
// primary data point a row hold the same rows, whatever their CF.
// SEASONAL and DEVSEASONAL archives have no stream: their rows are part of the state.
type Stream struct {
	PDPs     int64 // primary data points a row
	Rows     int64 // the longest of its archives
	Archives []int
}

// A State is what a series remembers between readings. It may be copied.
type State struct {
	W    []uint64 // Machine.Words words
	Text []string // last readings that must be kept as text, by data source; nil: none
}

// A Machine is a compiled Definition: it steps states of one shape.
type Machine struct {
	def *Definition
}
