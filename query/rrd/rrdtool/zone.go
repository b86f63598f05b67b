package rrdtool

import (
	"encoding/binary"
	"math"
	"strings"
	"time"
)

// Location returns the time zone that the variable TZ names, as the C library understands it: the
// name of a zone that this machine knows, or the rules themselves (CET-1CEST,M3.5.0,M10.5.0/3).
// What is neither is UTC.
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

// neverOffset is what a zone of zoneOf has if its rules are not understood.
const neverOffset = 1

// zoneOf is a file of a time zone (RFC 9636) that has nothing but rules for all times.
func zoneOf(rules string) []byte {
	header := func(transitions, types, letters uint32) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []uint32{0, 0, 0, transitions, types, letters} {
			b = binary.BigEndian.AppendUint32(b, n)
		}
		return b
	}
	b := header(0, 0, 0) // for those who know version 1 alone
	b = append(b, header(1, 1, 4)...)
	long := int64(math.MinInt64) / 4 // before all times that anybody asks for
	b = binary.BigEndian.AppendUint64(b, uint64(long))
	b = append(b, 0)                                  // the transition is to type 0:
	b = binary.BigEndian.AppendUint32(b, neverOffset) // seconds from UTC,
	b = append(b, 0, 0)                               // no daylight saving time, the first letters
	return append(append(append(b, "UTC\x00\n"...), rules...), '\n')
}
