package rrdfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// ReadXML reads a dump of any version as `rrdtool restore` does. Versions 1 and 2 become version 3.
// A dump does not say which rows are the current ones. rrdtool chooses them at random; here they
// are 0.
//
// The error is an [*XMLError], or an error of r.
func ReadXML(r io.Reader, o XMLOptions) (*File, error) {
	p := restorer{x: newXMLReader(r), o: o, f: &File{}}
	p.document()
	if p.x.err != nil {
		return nil, p.x.err
	}
	return p.f, nil
}

func (p *restorer) document() {
	if p.x.next() != xmlOpen {
		p.x.broken("Document is empty")
		return
	}
	if p.x.name != "rrd" {
		p.x.fail("line", "expected <%s> element but found <rrd>", p.x.name)
		return
	}
	version := 0
	p.children(func(name string) {
		switch name {
		case "version":
			v, _, _ := numeral.Scan(p.text(5), 10)
			version = int(v)
		case "step":
			p.f.Definition.Step = int64(p.long())
		case "lastupdate":
			p.f.State.LastUpdate = rra.Seconds(p.time())
		case "ds":
			p.source()
		case "rra":
			p.archive(version)
		default:
			p.x.fail("", "parse_tag_rrd: Unknown tag: %s", name)
		}
	})
	if p.ok() && p.x.next() != xmlEnd {
		p.x.broken("Extra content at the end of the document")
	}
	if p.ok() {
		p.x.err = p.unusable
	}
	if p.ok() {
		p.complete(version)
	}
}

// complete adds the parts that a dump may lack. It refuses a dump if rrdtool's file of it would be
// one that rrdtool itself cannot read.
func (p *restorer) complete(version int) {
	f := p.f
	f.Version = max(version, 3)
	d := &f.Definition
	switch {
	case version > 5:
		p.x.fail("", "can't handle RRD file version %d", version)
	case d.Step <= 0:
		p.x.fail("", "step %d cannot be", uint64(d.Step))
	case len(d.Sources) == 0 || len(d.Archives) == 0:
		p.x.fail("", "%d data sources and %d archives", len(d.Sources), len(d.Archives))
	}
	nothing := make([]rra.CDP, len(d.Sources)) // for archives without cdp_prep
	for i := range d.Archives {
		a := &d.Archives[i]
		if isSeasonal(a.CF) && f.Version < 4 {
			a.SmoothingWindow = math.NaN()
		}
		if f.State.Archives[i].CDPs == nil {
			f.State.Archives[i].CDPs = nothing
		}
	}
}

func (p *restorer) source() {
	d := &p.f.Definition
	if len(d.Archives) > 0 {
		p.x.fail("", "parse_tag_ds: All data source definitions MUST precede the RRA definitions!")
		return
	}
	i := len(d.Sources)
	if i == maxElements {
		p.x.fail("", "more than %d data sources", maxElements)
		return
	}
	d.Sources = append(d.Sources, rra.DataSource{})
	p.f.State.Sources = append(p.f.State.Sources, rra.SourceSnapshot{})
	typed := false
	p.children(func(name string) {
		typed = typed || name == "type"
		p.sourceField(i, name)
	})
	if !p.ok() {
		return
	}
	switch s := &d.Sources[i]; {
	case !typed:
		p.refuse("data source %s has no type", s.Name)
	case s.Kind != rra.Compute:
		s.Expr = ""
	case s.Expr == "":
		p.refuse("data source %s has no cdef", s.Name)
	default:
		s.Heartbeat, s.Min, s.Max = 0, math.NaN(), math.NaN()
	}
}

// sourceField reads one element of data source i.
func (p *restorer) sourceField(i int, name string) {
	s, x := &p.f.Definition.Sources[i], &p.f.State.Sources[i]
	switch name {
	case "name":
		s.Name = p.sourceName()
	case "type":
		kind := p.text(nameSize)
		var err error
		if s.Kind, err = rra.ParseKind(kind); err != nil && p.ok() {
			p.x.fail("", "parse_tag_ds_type: Unknown data source type: %s", kind)
		}
	case "minimal_heartbeat":
		s.Heartbeat = p.heartbeat()
	case "min":
		s.Min = p.double()
	case "max":
		s.Max = p.double()
	case "cdef":
		p.expression(i)
	case "last_ds":
		x.LastReading = p.text(textSize)
	case "value":
		x.Value = p.double()
	case "unknown_sec":
		x.UnknownSec = int64(p.long())
	default:
		p.x.fail("", "parse_tag_ds: Unknown tag: %s", name)
	}
}

// expression reads the expression of data source i. It may refer to the data sources before i.
func (p *restorer) expression(i int) {
	d := &p.f.Definition
	d.Sources[i].Expr = ""
	text := string(p.word())
	if !p.ok() {
		return
	}
	program, err := rpn.Compile(text, rra.SourceNames(d.Sources[:i]))
	if err != nil {
		p.x.fail("", "failed to parse computed data source")
		return
	}
	if err := program.CheckCompute(); err != nil && !errors.Is(err, rpn.ErrComputeNow) {
		p.x.fail("", "%v", err)
		return
	}
	d.Sources[i].Expr = program.String()
}

// XMLOptions say how a dump is read.
type XMLOptions struct {
	// RangeCheck replaces values outside the minimum and maximum of their data source by unknown,
	// as `rrdtool restore --range-check` does: in all archives, whatever their CF.
	RangeCheck bool

	// WholeHistory keeps the whole history of FAILURES archives. rrdtool's restore keeps only the
	// newest ten PDPs.
	WholeHistory bool

	// XenServer takes what XenServer's daemon xcp-rrdd writes and a series cannot hold or rrdtool
	// refuses: names of up to [rra.MaxName] bytes, a heartbeat of Infinity, which becomes 2^31 - 1
	// seconds, and an xff of 1, which becomes [MostUnknown].
	XenServer bool
}

// MostUnknown is an xff just below 1, which no series can have: one known PDP of a million is
// enough for a row.
const MostUnknown = 0.999999

// A restorer reads the elements of a dump.
type restorer struct {
	x *xmlReader
	o XMLOptions
	f *File

	// unusable is a mistake that rrdtool does not report, although it cannot read the file that it
	// makes. It is returned only if rrdtool finds no mistake in the rest of the dump.
	unusable error
}

func (p *restorer) ok() bool { return p.x.err == nil }

// child finds the next element inside the one that was opened last. ok is false at its end.
func (p *restorer) child() (name string, ok bool) {
	switch p.x.next() {
	case xmlOpen:
		return p.x.name, true
	case xmlText:
		p.x.fail("line", "expected element but found text '%s'", p.x.rest)
	}
	return "", false
}

// children calls read for each element inside the one that was opened last, up to its end. read
// takes the whole element.
func (p *restorer) children(read func(name string)) {
	for p.ok() {
		name, ok := p.child()
		if !ok {
			return
		}
		read(name)
	}
}

// word returns the first word of the text of the element that was opened last, and reads up to the
// end of the element. The word is valid until the next call.
func (p *restorer) word() []byte {
	switch p.x.next() {
	case xmlText:
		p.endOf(p.x.open[len(p.x.open)-1])
		return p.x.word
	case xmlOpen:
		p.x.fail("line", "expected a value but found a <%s> element", p.x.name)
	}
	return nil
}

// endOf reads the end of an element that must not contain anything more.
func (p *restorer) endOf(name string) {
	word := p.x.word
	switch p.x.next() {
	case xmlOpen:
		p.x.fail("line", "expected </%s> end element but found <%s>", name, p.x.name)
	case xmlText:
		p.x.fail("line", "expected element but found text '%s'", p.x.rest)
	}
	p.x.word = word
}

// text is word for a string of less than size bytes.
func (p *restorer) text(size int) string {
	w := p.word()
	if len(w) >= size {
		p.x.fail("", "'%s' is longer than %d", w, size)
		return ""
	}
	return string(w)
}

// sourceName reads the name of a data source.
func (p *restorer) sourceName() string {
	if p.o.XenServer {
		return p.text(rra.MaxName + 1)
	}
	return p.text(nameSize)
}

// refuse makes the dump unusable: ReadXML fails after it has read the whole dump.
func (p *restorer) refuse(format string, args ...any) {
	if p.unusable == nil {
		p.unusable = &XMLError{Line: p.x.line, Err: fmt.Sprintf(format, args...)}
	}
}

// The limits of a dump. Definition and state take about twenty times the memory of their elements,
// so a dump with more of them than a series may have is refused early.
const (
	maxElements = 1 << 16 // data sources, or archives
	maxCells    = 1 << 20 // archives times data sources
)

func (p *restorer) archive(version int) {
	d := &p.f.Definition
	i := len(d.Archives)
	if (i+1)*max(len(d.Sources), maxCells/maxElements) > maxCells {
		p.x.fail("", "more than %d archives of %d data sources", i, len(d.Sources))
		return
	}
	d.Archives = append(d.Archives, rra.Archive{})
	p.f.State.Archives = append(p.f.State.Archives, rra.ArchiveSnapshot{})
	a, x := &d.Archives[i], &p.f.State.Archives[i]
	known := false
	p.children(func(name string) {
		switch {
		case name == "cf":
			cf := p.text(nameSize)
			var err error
			if a.CF, err = rra.ParseCF(cf); err != nil && p.ok() {
				p.x.fail("", "parse_tag_rra_cf: Unknown consolidation function: %s", cf)
			}
			known = true
		case name == "pdp_per_row":
			a.PDPs = int64(p.long())
		case name == "xff" && version == 1:
			a.XFF = p.double()
		case name == "params" && version >= 2:
			p.params(i)
		case name == "cdp_prep":
			p.cdps(x)
		case name == "database":
			p.database(a, x)
		default:
			p.x.fail("line", "parse_tag_rra: Unknown tag: %s", name)
		}
	})
	if !p.ok() {
		return
	}
	switch {
	case !known:
		p.refuse("archive %d has no cf", i)
	case a.PDPs <= 0:
		p.refuse("archive %d: pdp_per_row %d cannot be", i, uint64(a.PDPs))
	}
	p.completeArchive(i)
}

// completeArchive removes the parameters that the CF of an archive does not have.
func (p *restorer) completeArchive(i int) {
	a, x := &p.f.Definition.Archives[i], &p.f.State.Archives[i]
	if a.CF <= rra.Last {
		a.Partner = -1
		if p.o.XenServer && a.XFF == 1 {
			a.XFF = MostUnknown
		}
	} else {
		a.XFF = 0
	}
	if !isSeasonal(a.CF) {
		x.SmoothRow = 0
	}
	if a.CF != rra.Failures {
		a.Window = 0
	}
	for j := range x.CDPs {
		c := &x.CDPs[j]
		if a.CF != rra.Failures {
			c.History = ""
			continue
		}
		history := make([]byte, a.Window)
		for k := range history {
			history[k] = '0'
			if k < len(c.History) {
				history[k] = c.History[k]
			}
		}
		c.History = string(history)
	}
}

func (p *restorer) params(i int) {
	a := &p.f.Definition.Archives[i]
	p.children(func(name string) {
		switch name {
		case "xff":
			a.XFF = p.double()
		case "hw_alpha":
			a.Alpha = p.double()
		case "hw_beta":
			a.Beta = p.double()
		case "dependent_rra_idx":
			a.Partner = int(p.long())
		case "seasonal_gamma":
			a.Gamma = p.double()
		case "seasonal_smooth_idx":
			p.f.State.Archives[i].SmoothRow = int64(p.long())
		case "smoothing_window":
			a.SmoothingWindow = p.double()
		case "failure_threshold":
			a.Threshold = int(p.long())
		case "delta_pos":
			a.DeltaPos = p.double()
		case "delta_neg":
			a.DeltaNeg = p.double()
		case "window_len":
			n := p.long()
			if n > maxWindow {
				p.x.fail("", "window_len %d, at most %d is possible", n, maxWindow)
			}
			a.Window = int(n)
		default:
			p.x.fail("line", "parse_tag_rra_params: Unknown tag: %s", name)
		}
	})
}

// each reads one element of the given name for each data source, up to the end of the element that
// contains them.
func (p *restorer) each(name string, read func(i int)) {
	n := len(p.f.Definition.Sources)
	for i := 0; p.ok(); i++ {
		found, ok := p.child()
		switch {
		case !p.ok():
		case ok && found == name && i < n:
			read(i)
		case !ok && i == n:
			return
		case !ok: // rrdtool's text has the two names the wrong way round
			p.x.fail("line", "expected </%s> element but found <%s>", p.x.name, name)
		case i == n:
			p.x.fail("line", "expected <%s> element but found </%s>", found, p.x.open[len(p.x.open)-2])
		default:
			p.x.fail("line", "expected <%s> element but found <%s>", found, name)
		}
	}
}

func (p *restorer) cdps(x *rra.ArchiveSnapshot) {
	if x.CDPs == nil {
		x.CDPs = make([]rra.CDP, 0, len(p.f.Definition.Sources))
	}
	x.CDPs = x.CDPs[:0]
	p.each("ds", func(int) {
		x.CDPs = append(x.CDPs, rra.CDP{})
		p.cdp(&x.CDPs[len(x.CDPs)-1])
	})
}

func (p *restorer) cdp(c *rra.CDP) {
	p.children(func(name string) {
		switch x, ok := cdpElements[name]; {
		case ok && x.double != nil:
			*x.double(c) = p.double()
		case ok:
			*x.long(c) = int64(p.long())
		case name == "history":
			c.History = p.history()
		default:
			p.x.fail("", "parse_tag_rra_cdp_prep: Unknown tag: %s", name)
		}
	})
}

// restoredHistory is how many PDPs of a history rrdtool restores.
const restoredHistory = 10

func (p *restorer) history() string {
	w := p.word()
	most := restoredHistory
	if p.o.WholeHistory {
		most = maxWindow
	}
	w = w[:min(len(w), most)]
	for i, c := range w {
		if c != '1' {
			w[i] = '0'
		}
	}
	return string(w)
}

func (p *restorer) database(a *rra.Archive, x *rra.ArchiveSnapshot) {
	if a.Rows > 0 {
		p.x.fail("", "an archive has two databases")
		return
	}
	row := func(i int) {
		v := p.double()
		if s := &p.f.Definition.Sources[i]; p.o.RangeCheck && (v < s.Min || v > s.Max) {
			v = math.Float64frombits(rrdtoolNaN)
		}
		x.Rows = append(x.Rows, v)
	}
	p.children(func(name string) {
		if name != "row" {
			p.x.fail("line", "expected <%s> element but found <row>", name)
			return
		}
		p.each("v", row)
		a.Rows++
	})
}

func (p *restorer) double() float64 {
	w := p.word()
	if !p.ok() {
		return 0
	}
	v, n := scanDouble(w)
	if n < len(w) || n == 0 {
		// The text of C's errno.
		reason := "Success"
		if n == 0 {
			reason = "Numerical result out of range"
		}
		p.x.fail("ling", "get_xml_double from '%s' %s", w, reason)
	}
	return v
}

// scanDouble reads the number at the beginning of w as rrdtool does, and returns its length.
func scanDouble(w []byte) (v float64, n int) {
	sign, word := byte('+'), w
	if len(w) > 0 && (w[0] == '-' || w[0] == '+') {
		sign, word = w[0], w[1:]
	}
	if len(word) >= 3 {
		switch strings.ToLower(string(word[:3])) {
		case "nan":
			return math.Float64frombits(rrdtoolNaN), len(w)
		case "inf":
			if sign == '-' {
				return math.Inf(-1), len(w)
			}
			return math.Inf(1), len(w)
		}
	}
	return rpn.ScanNumber(string(w))
}

// long reads an unsigned integer as C's strtoul does: 0x10, 010 and -1 are numbers, and text behind
// the number is ignored.
func (p *restorer) long() uint64 { return p.integer(p.word()) }

// heartbeat reads a heartbeat in seconds.
func (p *restorer) heartbeat() int64 {
	w := p.word()
	if p.o.XenServer && bytes.EqualFold(w, []byte("infinity")) {
		return math.MaxInt32
	}
	return int64(p.integer(w))
}

func (p *restorer) integer(w []byte) uint64 {
	v, negative, _, overflow := numeral.ScanUnsigned(w, 0)
	if overflow {
		p.x.fail("ling", "get_xml_ulong from '%s' Numerical result out of range", w)
	}
	if negative {
		return -v
	}
	return v
}

// time reads a time in seconds as C's strtoll does.
func (p *restorer) time() int64 {
	w := p.word()
	v, negative, _, overflow := numeral.ScanUnsigned(w, 0)
	switch {
	case overflow || v > math.MaxInt64 && !(negative && v == 1<<63):
		p.x.fail("ling", "get_xml_time_t from '%s' Numerical result out of range", w)
	case v > maxSecond:
		p.x.fail("", "lastupdate %s is out of range", w)
	}
	if negative {
		return -int64(v)
	}
	return int64(v)
}
