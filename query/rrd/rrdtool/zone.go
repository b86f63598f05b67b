package rrdtool

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// Location returns the time zone that the variable TZ names, as the C library reads it: the name of
// a zone that this machine knows, or rules (CET-1CEST,M3.5.0,M10.5.0/3). Anything else means UTC.
func Location(tz string) *time.Location {
	tz = strings.TrimPrefix(tz, ":")
	if tz == "" || strings.Contains(tz, "\n") {
		return time.UTC
	}
	if tz != "Local" {
		if l, err := time.LoadLocation(tz); err == nil {
			return l
		}
	}
	if l, err := time.LoadLocationFromTZData(tz, zoneOf(tz)); err == nil {
		if _, offset := time.Unix(0, 0).In(l).Zone(); offset != neverOffset {
			return l
		}
	}
	return time.UTC
}

// neverOffset is the offset of a zone made by zoneOf if its rules are not understood, in seconds.
const neverOffset = 1

// zoneOf returns a time zone file (RFC 9636) that contains only rules.
func zoneOf(rules string) []byte {
	header := func(transitions, types, letters uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, transitions, types, letters} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	b := header(0, 0, 0) // the part for readers of version 1
	b = append(b, header(1, 1, 4)...)
	long := int64(math.MinInt64) / 4 // before every time that is looked up
	b = binary.BigEndian.AppendUint64(b, uint64(long))
	b = append(b, 0)                                  // the transition is to type 0:
	b = binary.BigEndian.AppendUint32(b, neverOffset) // seconds from UTC,
	b = append(b, 0, 0)                               // no daylight saving time, the first letters
	return append(append(append(b, "UTC\x00\n"...), rules...), '\n')
}
