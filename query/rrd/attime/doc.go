// Package attime reads times the way rrdtool writes them: seconds since 1970,
// dates, times of day, and offsets from the present or from each other.
//
// A time is a reference and offsets: now-2h, noon yesterday, 12:34 Jan 5 2001 + 3 days, 20260131,
// 1700000000, end-1week. [ParsePair] reads the two ends of a range; one of them may be relative to
// the other. [Instant] reads a single time. [Parse] reads one end without resolving it.
//
// The grammar, its quirks and its messages equal rrdtool 1.7.2's, learned by experiment. A time
// that rrdtool accepts gives the same second here, and a text that it refuses is refused with the
// same message. Offsets in days, weeks, months and years move along the calendar of the location,
// offsets in hours and less along the clock.
package attime
