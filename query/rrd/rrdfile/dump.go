package rrdfile

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
)

// A Header is a kind of header of a dump.
type Header uint8

// The headers that `rrdtool dump --header` knows.
const (
	HeaderDTD  Header = iota // an XML declaration and a document type; the default
	HeaderXSD                // an XML declaration and a schema
	HeaderNone               // nothing
)

// ParseHeader reads the value of --header: none, xsd or dtd. ok is false for any other value, which
// rrdtool ignores.
func ParseHeader(s string) (h Header, ok bool) {
	switch s {
	case "none":
		return HeaderNone, true
	case "xsd":
		return HeaderXSD, true
	case "dtd":
		return HeaderDTD, true
	}
	return HeaderDTD, false
}

// dumpBuffer is how many bytes of a dump are collected before they are written.
const dumpBuffer = 64 << 10

// WriteXML writes the dump that `rrdtool dump` prints for the file. loc is the time zone of the
// times in comments; nil means time.Local. The error is an error of w, or a [*FieldError], which
// comes before anything is written.
func (f *File) WriteXML(w io.Writer, header Header, loc *time.Location) error {
	if err := f.check(); err != nil {
		return err
	}
	if loc == nil {
		loc = time.Local
	}
	d := dumper{f: f, w: w, b: make([]byte, 0, dumpBuffer), clock: clock{loc: loc}}
	d.head(header)
	for i := range f.Definition.Sources {
		d.source(i)
	}
	d.print("\t<!-- Round Robin Archives -->\n")
	for i := range f.Definition.Archives {
		d.archive(i)
	}
	d.print("</rrd>\n")
	d.flush()
	return d.err
}

// A dumper collects lines in b and writes them.
type dumper struct {
	f     *File
	w     io.Writer
	b     []byte
	err   error
	clock clock
}

func (d *dumper) flush() {
	if d.err == nil && len(d.b) > 0 {
		_, d.err = d.w.Write(d.b)
	}
	d.b = d.b[:0]
}

func (d *dumper) print(s string) { d.b = append(d.b, s...) }

func (d *dumper) printf(format string, args ...any) { d.b = fmt.Appendf(d.b, format, args...) }

// number prints an element with a number.
func (d *dumper) number(indent, name string, v float64) {
	d.print(indent + "<" + name + ">")
	d.b = numeral.Append(d.b, v)
	d.print("</" + name + ">\n")
}

// param prints an element with a parameter. Unlike number, it prints an unknown value as nan.
func (d *dumper) param(name string, v float64) {
	if v == v {
		d.number("\t\t", name, v)
		return
	}
	d.printf("\t\t<%s>nan</%s>\n", name, name)
}

// count prints an element with an unsigned integer.
func (d *dumper) count(indent, name string, v int64) {
	d.printf("%s<%s>%d</%s>\n", indent, name, uint64(v), name)
}

const xmlDeclaration = `<?xml version="1.0" encoding="utf-8"?>` + "\n"

func (d *dumper) head(header Header) {
	const comment = "<!-- Round Robin Database Dump -->\n"
	switch header {
	case HeaderNone:
		d.print(comment + "<rrd>\n")
	case HeaderXSD:
		d.print(xmlDeclaration + comment +
			`<rrd xmlns="https://oss.oetiker.ch/rrdtool/rrdtool-dump.xml" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"` + "\n" +
			"\t" + `xsi:schemaLocation="https://oss.oetiker.ch/rrdtool/rrdtool-dump.xml https://oss.oetiker.ch/rrdtool/rrdtool-dump.xsd">` + "\n")
	default:
		d.print(xmlDeclaration + `<!DOCTYPE rrd SYSTEM "https://oss.oetiker.ch/rrdtool/rrdtool.dtd">` + "\n" + comment + "<rrd>\n")
	}
	last := d.f.State.LastUpdate.Unix()
	d.printf("\t<version>%04d</version>\n", d.f.writtenVersion())
	d.printf("\t<step>%d</step> <!-- Seconds -->\n", uint64(d.f.Definition.Step))
	d.printf("\t<lastupdate>%d</lastupdate> <!-- ", last)
	d.b = d.clock.append(d.b, last)
	d.print(" -->\n\n")
}

func (d *dumper) source(i int) {
	s, x := &d.f.Definition.Sources[i], &d.f.State.Sources[i]
	d.printf("\t<ds>\n\t\t<name> %s </name>\n\t\t<type> %s </type>\n", s.Name, s.Kind)
	if s.Kind == rra.Compute {
		d.printf("\t\t<cdef> %s </cdef>\n", s.Expr)
	} else {
		d.count("\t\t", "minimal_heartbeat", s.Heartbeat)
		d.number("\t\t", "min", s.Min)
		d.number("\t\t", "max", s.Max)
	}
	d.printf("\n\t\t<!-- PDP Status -->\n\t\t<last_ds>%s</last_ds>\n", x.LastReading)
	d.number("\t\t", "value", x.Value)
	d.printf("\t\t<unknown_sec> %d </unknown_sec>\n\t</ds>\n\n", uint64(x.UnknownSec))
}

func (d *dumper) archive(i int) {
	a, x := &d.f.Definition.Archives[i], &d.f.State.Archives[i]
	d.printf("\t<rra>\n\t\t<cf>%s</cf>\n\t\t<pdp_per_row>%d</pdp_per_row> <!-- %d seconds -->\n\n\t\t<params>\n",
		a.CF, uint64(a.PDPs), uint64(d.f.Step(i)))
	d.params(i, a)
	d.print("\t\t</params>\n\t\t<cdp_prep>\n")
	nothing := new(rra.CDP)
	for j := range d.f.Definition.Sources {
		c := nothing
		if j < len(x.CDPs) {
			c = &x.CDPs[j]
		}
		d.print("\t\t\t<ds>\n")
		d.cdp(a, c)
		d.print("\t\t\t</ds>\n")
	}
	d.print("\t\t</cdp_prep>\n\t\t<database>\n")
	d.rows(i)
	d.print("\t\t</database>\n\t</rra>\n")
}

func (d *dumper) params(i int, a *rra.Archive) {
	switch a.CF {
	case rra.HWPredict, rra.MHWPredict:
		d.param("hw_alpha", a.Alpha)
		d.param("hw_beta", a.Beta)
	case rra.Seasonal, rra.DevSeasonal:
		d.param("seasonal_gamma", a.Gamma)
		d.count("\t\t", "seasonal_smooth_idx", d.f.State.Archives[i].SmoothRow)
		if d.f.Version >= 4 {
			d.param("smoothing_window", Smoothing(a))
		}
	case rra.Failures:
		d.param("delta_pos", a.DeltaPos)
		d.param("delta_neg", a.DeltaNeg)
		d.count("\t\t", "window_len", int64(a.Window))
		d.count("\t\t", "failure_threshold", int64(a.Threshold))
	case rra.DevPredict:
	default:
		d.param("xff", a.XFF)
		return
	}
	d.count("\t\t", "dependent_rra_idx", int64(a.Partner))
}

func (d *dumper) cdp(a *rra.Archive, c *rra.CDP) {
	const indent = "\t\t\t"
	for _, x := range cdpFields[a.CF] {
		switch {
		case x.double == nil:
			d.count(indent, x.name, *x.long(c))
		case a.CF != rra.DevPredict || x.name != "value": // rrdtool leaves it out
			d.number(indent, x.name, *x.double(c))
		}
	}
	if a.CF != rra.Failures {
		return
	}
	d.print(indent + "<history>")
	for i := range a.Window {
		b := int8(0)
		if i < len(c.History) {
			b = int8(c.History[i] - '0')
		}
		d.b = strconv.AppendInt(d.b, int64(b), 10)
	}
	d.print("</history>\n")
}

func (d *dumper) rows(i int) {
	rows, n := d.f.State.Archives[i].Rows, len(d.f.Definition.Sources)
	step := d.f.Step(i)
	end := d.f.Newest(i) - int64(len(rows)/n)*step
	for len(rows) > 0 && d.err == nil {
		end += step
		d.print("\t\t\t<!-- ")
		d.b = d.clock.append(d.b, end)
		d.print(" / ")
		d.b = strconv.AppendInt(d.b, end, 10)
		d.print(" --> <row>")
		for _, v := range rows[:n] {
			d.print("<v>")
			d.b = numeral.Append(d.b, v)
			d.print("</v>")
		}
		d.print("</row>\n")
		rows = rows[n:]
		if len(d.b) > dumpBuffer-1024 {
			d.flush()
		}
	}
}

// A clock prints seconds as strftime's %Y-%m-%d %H:%M:%S %Z. It keeps the text of the last date,
// because most times are of the same day as the time before.
type clock struct {
	loc        *time.Location
	zone       string
	offset     int64  // seconds of the zone from UTC
	start, end int64  // zone and offset are valid from start until before end
	day        int64  // day of date, in days since 1970
	date       []byte // text of the last date
}

func (c *clock) append(b []byte, sec int64) []byte {
	if sec < c.start || sec >= c.end {
		t := time.Unix(sec, 0).In(c.loc)
		name, offset := t.Zone()
		c.zone, c.offset = name, int64(offset)
		c.start, c.end = math.MinInt64, math.MaxInt64
		start, end := t.ZoneBounds()
		if !start.IsZero() {
			c.start = start.Unix()
		}
		if !end.IsZero() {
			c.end = end.Unix()
		}
		c.date = c.date[:0]
	}
	local := sec + c.offset
	day := local / 86400
	second := local % 86400
	if second < 0 {
		day, second = day-1, second+86400
	}
	if day != c.day || len(c.date) == 0 {
		year, month, date := time.Unix(day*86400, 0).UTC().Date()
		c.day, c.date = day, strconv.AppendInt(c.date[:0], int64(year), 10)
		c.date = appendTwo(append(c.date, '-'), int64(month))
		c.date = appendTwo(append(c.date, '-'), int64(date))
	}
	b = append(append(b, c.date...), ' ')
	b = append(appendTwo(b, second/3600), ':')
	b = append(appendTwo(b, second/60%60), ':')
	b = append(appendTwo(b, second%60), ' ')
	return append(b, c.zone...)
}

func appendTwo(b []byte, v int64) []byte { return append(b, '0'+byte(v/10), '0'+byte(v%10)) }
