package rrdfile

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/rondo-db/rondo/rra"
)

// A native file is the memory of a C program. Byte order, the size of a long and the alignment of a
// double follow the machine that wrote it:
//
//	head        "RRD\0"; a version of 4 digits and \0; a double that distinguishes machines;
//	            longs: number of data sources, number of archives, step; 10 parameters
//	            for each data source: name and kind, 20 bytes each; 10 parameters
//	            for each archive: CF, 20 bytes; longs: rows, PDPs a row; 10 parameters
//	live head   last update: a time, and from version 3 on a long of microseconds
//	            for each data source: last reading, 30 bytes; 10 parameters
//	            for each archive and each data source: 10 parameters
//	            for each archive: a long: current row
//	rows        for each archive and each row: a double for each data source
//
// A parameter is a union of a double and a long. docs/rrdfile.md describes all fields.

// Sizes that all machines share.
const (
	nameSize   = 20
	textSize   = 30 // bytes of a last reading
	parameters = 10
	paramSize  = 8
	paramsSize = parameters * paramSize

	magic      = "RRD\x00"
	versionEnd = 9 // offset behind the version, "0003\0"
)

// cookie is the double that distinguishes machines.
const cookie = 8.642135e130

type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// A layout says how a kind of machine lays a file out.
type layout struct {
	order byteOrder
	long  int // bytes of a long: 4 or 8
	align int // alignment of a double: 4 or 8
	time  int // bytes of a time: 4 or 8
}

// native is the layout of 64-bit little-endian machines. Files are written in this layout.
var native = layout{binary.LittleEndian, 8, 8, 8}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// structAlign returns the alignment of a struct that contains a parameter.
func (l *layout) structAlign() int { return max(l.long, l.align) }

func (l *layout) cookieAt() int { return roundUp(versionEnd, l.align) }

// countsAt returns the offset of the numbers of data sources and archives, and of the step.
func (l *layout) countsAt() int { return l.cookieAt() + 8 }

func (l *layout) headSize() int {
	return roundUp(l.countsAt()+3*l.long, l.structAlign()) + paramsSize
}

// sourceSize returns the size of a data source's definition.
func (l *layout) sourceSize() int { return 2*nameSize + paramsSize }

// Offsets in an archive's definition, and its size.
func (l *layout) rowsAt() int          { return roundUp(nameSize, l.long) }
func (l *layout) archiveParamsAt() int { return roundUp(l.rowsAt()+2*l.long, l.structAlign()) }
func (l *layout) archiveSize() int     { return l.archiveParamsAt() + paramsSize }

// liveSize returns the size of the last update in a file of a version.
func (l *layout) liveSize(version int) int {
	if version < 3 {
		return l.time
	}
	// A 64-bit time on a 32-bit machine has the alignment of a double.
	return roundUp(l.time+l.long, max(l.long, min(l.time, l.align)))
}

// The offset of the parameters in the state of a data source, and the size of that state.
const (
	pdpParamsAt = textSize + 2
	pdpSize     = pdpParamsAt + paramsSize
)

// headerSize returns the size of everything before the rows.
func (l *layout) headerSize(version int, sources, archives int64) int64 {
	return int64(l.headSize()) + sources*int64(l.sourceSize()) + archives*int64(l.archiveSize()) +
		int64(l.liveSize(version)) + sources*pdpSize + archives*sources*paramsSize + archives*int64(l.long)
}

// layoutOf finds the layout of a file from its head. The head does not show the size of a time on
// 32-bit machines; layoutOf returns 4.
func layoutOf(b []byte) (layout, bool) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, l := range []layout{{order, 8, 8, 8}, {order, 4, 8, 4}, {order, 4, 4, 4}} {
			if len(b) < l.headSize() || math.Float64frombits(order.Uint64(b[l.cookieAt():])) != cookie {
				continue
			}
			// Read as one long of 8 bytes, two longs of 4 bytes are a number larger than any count.
			if l.long == 8 && order.Uint64(b[l.countsAt():]) >= 1<<32 {
				continue
			}
			return l, true
		}
	}
	return layout{}, false
}

// word returns the long at the start of b.
func (l *layout) word(b []byte) uint64 {
	if l.long == 4 {
		return uint64(l.order.Uint32(b))
	}
	return l.order.Uint64(b)
}

// seconds returns the time at the start of b.
func (l *layout) seconds(b []byte) int64 {
	if l.time == 4 {
		return int64(int32(l.order.Uint32(b)))
	}
	return int64(l.order.Uint64(b))
}

// double returns the double at the start of b.
func (l *layout) double(b []byte) float64 { return math.Float64frombits(l.order.Uint64(b)) }

// text returns b up to its first NUL.
func text(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// parseName reads the name of a value from 0 to last, which a NUL may follow, without allocation.
func parseName[T interface {
	rra.Kind | rra.CF
	String() string
}](b []byte, last T) (v T, ok bool) {
	b, _, _ = bytes.Cut(b, []byte{0})
	for ; v <= last; v++ {
		if v.String() == string(b) {
			return v, true
		}
	}
	return 0, false
}

// A cdpField is a number in a CDP, the state of one archive and one data source: its element in a
// dump, the index of its parameter in a native file, and its field, which is a double or a long.
type cdpField struct {
	name   string
	at     int
	double func(*rra.CDP) *float64
	long   func(*rra.CDP) *int64
}

var (
	cdpBoth = []cdpField{
		{"primary_value", 8, func(c *rra.CDP) *float64 { return &c.Primary }, nil},
		{"secondary_value", 9, func(c *rra.CDP) *float64 { return &c.Secondary }, nil},
	}
	cdpPredict = append(cdpBoth[:2:2],
		cdpField{"intercept", 2, func(c *rra.CDP) *float64 { return &c.Intercept }, nil},
		cdpField{"last_intercept", 3, func(c *rra.CDP) *float64 { return &c.LastIntercept }, nil},
		cdpField{"slope", 4, func(c *rra.CDP) *float64 { return &c.Slope }, nil},
		cdpField{"last_slope", 5, func(c *rra.CDP) *float64 { return &c.LastSlope }, nil},
		cdpField{"nan_count", 6, nil, func(c *rra.CDP) *int64 { return &c.NullCount }},
		cdpField{"last_nan_count", 7, nil, func(c *rra.CDP) *int64 { return &c.LastNullCount }})
	cdpSeason = append(cdpBoth[:2:2],
		cdpField{"seasonal", 2, func(c *rra.CDP) *float64 { return &c.Seasonal }, nil},
		cdpField{"last_seasonal", 3, func(c *rra.CDP) *float64 { return &c.LastSeasonal }, nil},
		cdpField{"init_flag", 6, nil, func(c *rra.CDP) *int64 { return &c.InitFlag }})
	cdpPlain = append(cdpBoth[:2:2],
		cdpField{"value", 0, func(c *rra.CDP) *float64 { return &c.Value }, nil},
		cdpField{"unknown_datapoints", 1, nil, func(c *rra.CDP) *int64 { return &c.Unknown }})
)

// cdpFields are the numbers of a CDP by the CF of its archive, in the order of a dump. The history
// of FAILURES, a byte a PDP from the first parameter on, is no number.
var cdpFields = [...][]cdpField{
	rra.Average: cdpPlain, rra.Min: cdpPlain, rra.Max: cdpPlain, rra.Last: cdpPlain,
	rra.HWPredict: cdpPredict, rra.MHWPredict: cdpPredict, rra.Seasonal: cdpSeason, rra.DevSeasonal: cdpSeason,
	rra.DevPredict: cdpPlain[:3], rra.Failures: cdpBoth,
}

// cdpElements are the elements of a CDP in a dump.
var cdpElements = func() map[string]cdpField {
	m := make(map[string]cdpField)
	for _, fields := range cdpFields {
		for _, x := range fields {
			m[x.name] = x
		}
	}
	return m
}()
