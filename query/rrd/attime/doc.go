// Package attime reads times the way rrdtool writes them: seconds since 1970,
// dates, times of day, and offsets from the present or from each other.
//
// A time is a reference and offsets: now-2h, noon yesterday, 12:34 Jan 5 2001 +
// 3 days, 20260131, 1700000000, end-1week. [ParsePair] reads the two ends of a
// range, of which one may be given relative to the other; [Instant] reads a
// time that stands alone; [Parse] reads one end without resolving it.
//
// The grammar, its quirks and its messages are those of rrdtool 1.7.2, learned
// from the program: whatever it accepts gives the same second here, and whatever
// it refuses is refused with the same words. Days, weeks, months and years are
// moved on the calendar of the location, hours and less on the clock.
package attime
