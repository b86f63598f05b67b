package rrdfile

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// rrdtoolNaN are the bits of the NaN that rrdtool produces on x86-64. Go's own NaN is written with
// these bits, any other NaN with its own.
const rrdtoolNaN = 0xfff8_0000_0000_0000

func fileBits(v float64) uint64 {
	if b := math.Float64bits(v); b != goNaN {
		return b
	}
	return rrdtoolNaN
}

var goNaN = math.Float64bits(math.NaN())

// AppendBinary appends the native file as rrdtool writes it on a 64-bit little-endian machine. A
// file of version 1 or 2 becomes version 3. The error is a [*FieldError].
func (f *File) AppendBinary(b []byte) ([]byte, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	if len(f.unclear) > 0 {
		return nil, &FieldError{fmt.Sprintf("ds[%d].cdef", f.unclear[0]), unclear}
	}
	e := encoder{f: f, b: slices.Grow(b, int(f.Size()))}
	if err := e.definition(); err != nil {
		return nil, err
	}
	e.live()
	for i := range f.State.Archives {
		e.rows(i)
	}
	return e.b, nil
}

// Size returns the size of the native file in bytes.
func (f *File) Size() int64 {
	n := HeaderSize(&f.Definition, max(f.Version, 3))
	for i := range f.Definition.Archives {
		n += 8 * f.Definition.Archives[i].Rows * int64(len(f.Definition.Sources))
	}
	return n
}

// HeaderSize returns how many bytes stand before the rows in a native file of a definition and a
// version, on a 64-bit machine.
func HeaderSize(d *rra.Definition, version int) int64 {
	return native.headerSize(version, int64(len(d.Sources)), int64(len(d.Archives)))
}

// check returns an error if the parts of f do not fit together.
func (f *File) check() error {
	def, x := &f.Definition, &f.State
	if len(x.Sources) != len(def.Sources) || len(x.Archives) != len(def.Archives) {
		return &FieldError{"rra", "the state is not of the definition"}
	}
	if f.Version < 1 || f.Version > 5 {
		return &FieldError{"rrd_version", fmt.Sprintf("%d", f.Version)}
	}
	for i := range def.Sources {
		if n := len(def.Sources[i].Name); n >= nameSize {
			return &FieldError{fmt.Sprintf("ds[%d].name", i), fmt.Sprintf("%d bytes, at most %d are possible", n, nameSize-1)}
		}
		if n := len(x.Sources[i].LastReading); n >= textSize {
			return &FieldError{fmt.Sprintf("ds[%d].last_ds", i), fmt.Sprintf("%d bytes, at most %d are possible", n, textSize-1)}
		}
	}
	for i := range def.Archives {
		a, s := &def.Archives[i], &x.Archives[i]
		field := func(name string) string { return fmt.Sprintf("rra[%d].%s", i, name) }
		switch {
		case a.Rows < 0 || a.Rows > int64(len(s.Rows)) || int64(len(s.Rows)) != a.Rows*int64(len(def.Sources)):
			return &FieldError{field("rows"), fmt.Sprintf("%d values for %d rows", len(s.Rows), a.Rows)}
		case s.CurRow < 0 || s.CurRow >= max(a.Rows, 1):
			return &FieldError{field("cur_row"), fmt.Sprintf("%d of %d rows", s.CurRow, a.Rows)}
		case len(s.CDPs) != len(def.Sources) && s.CDPs != nil:
			return &FieldError{field("cdp_prep"), fmt.Sprintf("%d data sources, not %d", len(s.CDPs), len(def.Sources))}
		case a.Window < 0 || a.Window > maxWindow:
			return &FieldError{field("window_length"), fmt.Sprintf("%d, at most %d is possible", a.Window, maxWindow)}
		}
	}
	return nil
}

// An encoder appends a native file to b.
type encoder struct {
	f *File
	b []byte
}

func (e *encoder) long(v uint64)    { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *encoder) double(v float64) { e.long(fileBits(v)) }

// text appends s, padded with NULs to size bytes.
func (e *encoder) text(s string, size int) {
	e.b = append(e.b, s...)
	for range size - len(s) {
		e.b = append(e.b, 0)
	}
}

// params are the parameters of a struct.
type params [parameters]uint64

func (p *params) double(i int, v float64) { p[i] = fileBits(v) }

func (e *encoder) params(p *params) {
	for _, v := range p {
		e.long(v)
	}
}

// writtenVersion returns the version of the native file that is written.
func (f *File) writtenVersion() int { return max(f.Version, 3) }

func (e *encoder) definition() error {
	def := &e.f.Definition
	e.text(magic, len(magic))
	e.text(fmt.Sprintf("%04d", e.f.writtenVersion()), native.cookieAt()-len(magic))
	e.double(cookie)
	e.long(uint64(len(def.Sources)))
	e.long(uint64(len(def.Archives)))
	e.long(uint64(def.Step))
	e.params(&params{})
	for i := range def.Sources {
		s := &def.Sources[i]
		e.text(s.Name, nameSize)
		e.text(s.Kind.String(), nameSize)
		if s.Kind == rra.Compute {
			var err error
			if e.b, err = appendExpression(e.b, def, i, binary.LittleEndian); err != nil {
				return err
			}
			continue
		}
		p := params{0: uint64(s.Heartbeat)}
		p.double(1, s.Min)
		p.double(2, s.Max)
		e.params(&p)
	}
	for i := range def.Archives {
		a := &def.Archives[i]
		e.text(a.CF.String(), native.rowsAt())
		e.long(uint64(a.Rows))
		e.long(uint64(a.PDPs))
		p := e.archiveParams(i, a)
		e.params(&p)
	}
	return nil
}

func (e *encoder) archiveParams(i int, a *rra.Archive) (p params) {
	if a.CF <= rra.Last {
		p.double(paramXFF, a.XFF)
		return p
	}
	p[paramPartner] = uint64(a.Partner)
	switch a.CF {
	case rra.HWPredict, rra.MHWPredict:
		p.double(paramAlpha, a.Alpha)
		p.double(paramBeta, a.Beta)
		if archives := e.f.Definition.Archives; a.Partner >= 0 && a.Partner < len(archives) {
			p.double(paramPeriod, float64(archives[a.Partner].Rows))
		}
	case rra.Seasonal, rra.DevSeasonal:
		p.double(paramGamma, a.Gamma)
		p.double(paramSmoothing, Smoothing(a))
		p[paramSmooth] = uint64(e.f.State.Archives[i].SmoothRow)
	case rra.Failures:
		p.double(paramDeltaPos, a.DeltaPos)
		p.double(paramDeltaNeg, a.DeltaNeg)
		p[paramWindow], p[paramThreshold] = uint64(a.Window), uint64(a.Threshold)
	}
	return p
}

// live appends the state.
func (e *encoder) live() {
	x := &e.f.State
	e.long(uint64(x.LastUpdate.Unix()))
	e.long(uint64(x.LastUpdate.Micro()))
	for i := range x.Sources {
		s := &x.Sources[i]
		e.text(s.LastReading, pdpParamsAt)
		p := params{0: uint64(s.UnknownSec)}
		p.double(1, s.Value)
		e.params(&p)
	}
	for i := range x.Archives {
		a := &e.f.Definition.Archives[i]
		for j := range e.f.Definition.Sources {
			var p params
			if j < len(x.Archives[i].CDPs) {
				p = cdpParams(a, &x.Archives[i].CDPs[j])
			}
			e.params(&p)
		}
	}
	for i := range x.Archives {
		e.long(uint64(x.Archives[i].CurRow))
	}
}

func cdpParams(a *rra.Archive, c *rra.CDP) (p params) {
	for _, x := range cdpFields[a.CF] {
		if x.double != nil {
			p.double(x.at, *x.double(c))
		} else {
			p[x.at] = uint64(*x.long(c))
		}
	}
	if a.CF == rra.Failures {
		for i := range min(len(c.History), a.Window) {
			p[i/8] |= uint64(c.History[i]-'0') << (8 * (i % 8))
		}
	}
	return p
}

// rows appends the rows of archive i in the order of the ring.
func (e *encoder) rows(i int) {
	a := &e.f.State.Archives[i]
	if len(a.Rows) == 0 {
		return
	}
	newest := (int(a.CurRow) + 1) * len(e.f.Definition.Sources)
	first := len(a.Rows) - newest
	for _, v := range a.Rows[first:] {
		e.double(v)
	}
	for _, v := range a.Rows[:first] {
		e.double(v)
	}
}
