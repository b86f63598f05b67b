package attime

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
)

// A Relation is the reference of a [Time].
type Relation int

// The references of a time.
const (
	Absolute Relation = iota
	ToStart           // start+1d: the start of the range
	ToEnd             // end-1d: the end of the range
)

// A Time is one end of a range that was parsed and is not resolved yet: it may be relative to the
// other end.
type Time struct {
	// Relation is the reference of the time.
	Relation Relation

	f      Fields // the time, or if it is relative, what is added to the fields of the other end
	offset int64  // seconds, added at the end
}

var errRange = errors.New("the specified time is incorrect (out of range?)")

// ErrRelative says that a single time was given relative to start or end.
var ErrRelative = errors.New("specifying time relative to the 'start' or 'end' makes no sense here")
