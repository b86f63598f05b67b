package rra

import "time"

// A Time is an instant: microseconds since 1970-01-01T00:00:00Z.
type Time int64

// Seconds returns the Time of s whole seconds since 1970.
func Seconds(s int64) Time { return Time(s * 1e6) }

// TimeOf returns t cut to microseconds.
func TimeOf(t time.Time) Time { return Time(t.UnixMicro()) }

// Unix returns the whole seconds since 1970, rounded down.
func (t Time) Unix() int64 {
	s := int64(t) / 1e6
	if int64(t)%1e6 < 0 {
		s--
	}
	return s
}

// Micro returns the microseconds past the whole second, 0 to 999999.
func (t Time) Micro() int64 { return int64(t) - t.Unix()*1e6 }

// Std returns t as a time.Time in UTC.
func (t Time) Std() time.Time { return time.UnixMicro(int64(t)).UTC() }
