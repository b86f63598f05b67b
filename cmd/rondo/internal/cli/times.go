package cli

import (
	"fmt"
	"regexp"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// HintMonths explains times whose months were probably meant as minutes.
func (c *Factory) HintMonths(times ...string) {
	for _, text := range times {
		if months.MatchString(text) {
			// If this fails, the hint cannot be delivered.
			_, _ = fmt.Fprintf(c.Stderr, "%s: up to 5m, m is months, as to rrdtool; minutes are min\n", Quoted(text))
		}
	}
}

// months matches offsets of a few m, which rrdtool reads as months and users often mean as minutes.
var months = regexp.MustCompile(`[-+][0-5]m$`)

// Location returns the time zone in which times are read and printed.
func (c *Factory) Location() *time.Location {
	if tz := c.Getenv("TZ"); tz != "" {
		return rrdtool.Location(tz)
	}
	return time.Local
}

// TimesHint ends the error of a time that cannot be read.
const TimesHint = `times are like 2026-11-20, 2026-11-20T15:04, 07:00, midnight, -1h, "-2 hours", or seconds since 1970`

// Stamp prints a time for people.
func Stamp(second int64, location *time.Location) string {
	return time.Unix(second, 0).In(location).Format("2006-01-02 15:04:05")
}
