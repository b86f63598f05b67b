package attime

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"time"
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

	f      fields // the time, or if it is relative, what is added to the fields of the other end
	offset int64  // seconds, added at the end
	loc    *time.Location
}

var errRange = errors.New("the specified time is incorrect (out of range?)")

// ErrRelative says that a single time was given relative to start or end.
var ErrRelative = errors.New("specifying time relative to the 'start' or 'end' makes no sense here")

// Resolve returns the two ends of a range in seconds since 1970.
func Resolve(start, end Time) (from, to int64, err error) {
	switch {
	case start.Relation == ToEnd && end.Relation == ToStart:
		return 0, 0, errors.New("the start and end times cannot be specified relative to each other")
	case start.Relation == ToStart:
		return 0, 0, errors.New("the start time cannot be specified relative to itself")
	case end.Relation == ToEnd:
		return 0, 0, errors.New("the end time cannot be specified relative to itself")
	case start.Relation == ToEnd:
		to = end.Unix()
		return start.from(to), to, nil
	case end.Relation == ToStart:
		from = start.Unix()
		return from, end.from(from), nil
	}
	return start.Unix(), end.Unix(), nil
}

// Unix returns an absolute time in seconds since 1970.
func (t Time) Unix() int64 { return t.f.second(t.loc) + t.offset }

// from returns t relative to the second base.
func (t Time) from(base int64) int64 {
	f := local(base, t.loc)
	f.year += t.f.year
	f.mon += t.f.mon
	f.mday += t.f.mday
	f.hour += t.f.hour
	f.min += t.f.min
	f.sec += t.f.sec
	return f.second(t.loc) + t.offset
}
