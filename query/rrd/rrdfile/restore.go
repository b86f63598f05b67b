package rrdfile

import (
	"errors"
	"io"
	"math"

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
	names := make([]string, i)
	for j := range names {
		names[j] = d.Sources[j].Name
	}
	program, err := rpn.Compile(text, names)
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
