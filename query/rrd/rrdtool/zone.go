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
	if l, err := time.LoadLocationFromTZData(tz, zoneOf(tz, neverOffset, false, "UTC")); err == nil {
		begin := time.Unix(0, 0).In(l)
		name, offset := begin.Zone()
		if offset == neverOffset {
			return time.UTC
		}
		if l, err = time.LoadLocationFromTZData(tz, zoneOf(tz, offset, begin.IsDST(), name)); err == nil {
			return l
		}
	}
	return time.UTC
}

// neverOffset is the offset of a zone made by zoneOf if its rules are not understood, in seconds.
const neverOffset = 1

// zoneOf returns a time zone file (RFC 9636) that contains rules for the time from 1970 on. As in
// the C library, the clocks were not set before: they showed what they show when 1970 begins, which
// is offset seconds from UTC, of the name of a zone.
func zoneOf(rules string, offset int, summer bool, name string) []byte {
	header := func(transitions, types, letters int) []byte {
		b := append([]byte("TZif2"), make([]byte, 15)...)
		for _, n := range []int{0, 0, 0, transitions, types, letters} {
			b = binary.BigEndian.AppendUint32(b, uint32(n))
		}
		return b
	}
	b := header(0, 0, 0) // the part for readers of version 1
	b = append(b, header(2, 1, len(name)+1)...)
	long := int64(math.MinInt64) / 4 // before every time that is looked up
	b = binary.BigEndian.AppendUint64(b, uint64(long))
	b = binary.BigEndian.AppendUint64(b, 0)
	b = append(b, 0, 0) // both transitions are to type 0:
	b = binary.BigEndian.AppendUint32(b, uint32(offset))
	b = append(b, 0, 0) // no daylight saving time, the first letters
	if summer {
		b[len(b)-2] = 1
	}
	b = append(b, name...)
	return append(append(append(b, "\x00\n"...), rules...), '\n')
}
