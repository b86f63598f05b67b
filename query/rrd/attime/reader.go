package attime

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"time"
)

// A Reader reads the times of one command, in the order in which rrdtool reads them. The order
// matters if clocks are set back and show a wall time twice: the C library, which rrdtool asks,
// chooses by the offset of the time that it found last.
type Reader struct {
	now   time.Time
	clock clock
}

// NewReader returns a reader of times for a command that runs now, in now's location.
func NewReader(now time.Time) *Reader { return &Reader{now, clock{loc: now.Location()}} }

// Parse reads one end of a range. Parts of a date that spec does not name are taken from the
// present.
func (r *Reader) Parse(spec string) (Time, error) {
	p := parser{scanner: scanner{spec: spec, table: words}, loc: r.clock.loc}
	p.f = Local(r.now.Unix(), p.loc)
	p.f.DST = -1
	if err := p.parse(); err != nil {
		return Time{}, err
	}
	if p.far || p.Relation == Absolute && !r.clock.settle(&p.f) {
		return Time{}, errRange
	}
	return p.Time, nil
}

// At returns the time that lies the given number of seconds behind the beginning of 1970.
func (r *Reader) At(seconds int64) Time { return Time{f: Local(seconds, r.clock.loc)} }

// Instant reads a single time and returns it in seconds since 1970.
func (r *Reader) Instant(spec string) (int64, error) {
	t, err := r.Parse(spec)
	if err != nil {
		return 0, err
	}
	if t.Relation != Absolute {
		return 0, ErrRelative
	}
	return r.unix(t), nil
}

// Resolve returns the two ends of a range in seconds since 1970. One of them may be relative to the
// other.
func (r *Reader) Resolve(start, end Time) (from, to int64, err error) {
	switch {
	case start.Relation == ToEnd && end.Relation == ToStart:
		return 0, 0, errors.New("the start and end times cannot be specified relative to each other")
	case start.Relation == ToStart:
		return 0, 0, errors.New("the start time cannot be specified relative to itself")
	case end.Relation == ToEnd:
		return 0, 0, errors.New("the end time cannot be specified relative to itself")
	case start.Relation == ToEnd:
		start = r.relative(start, r.unix(end))
	case end.Relation == ToStart:
		end = r.relative(end, r.unix(start))
	}
	from = r.unix(start)
	return from, r.unix(end), nil
}

// unix returns an absolute time in seconds since 1970.
func (r *Reader) unix(t Time) int64 { return r.clock.second(&t.f) + t.offset }

// relative returns the absolute time that lies t from the second base.
func (r *Reader) relative(t Time, base int64) Time {
	f := Local(base, r.clock.loc)
	f.Year += t.f.Year
	f.Month += t.f.Month
	f.Day += t.f.Day
	f.Hour += t.f.Hour
	f.Minute += t.f.Minute
	f.Second += t.f.Second
	return Time{f: f, offset: t.offset}
}

// A Range is the range of time of a command: the last day, unless its options start and end say
// otherwise.
type Range struct {
	Times      *Reader // reads the times of the command
	start, end Time
}

// NewRange returns the range of a command that runs now, in now's location.
func NewRange(now time.Time) *Range {
	r := &Range{Times: NewReader(now)}
	r.start, _ = r.Times.Parse("end-24h") // both are right
	r.end, _ = r.Times.Parse("now")
	return r
}

// Set takes the option start or end.
func (r *Range) Set(option, spec string) (err error) {
	to := &r.start
	if option == "end" {
		to = &r.end
	}
	if *to, err = r.Times.Parse(spec); err != nil {
		return fmt.Errorf("%s time: %w", option, err)
	}
	return nil
}

// Resolve returns the two ends in seconds since 1970.
func (r *Range) Resolve() (from, to int64, err error) { return r.Times.Resolve(r.start, r.end) }

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
