package rrdfile

import (
	"errors"
	"io"
	"math"

	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

// restoredHistory is how much of a history rrdtool restores.
const restoredHistory = 10

// ReadXML reads what `rrdtool dump` writes, of any version, as `rrdtool restore` does. Versions 1
// and 2 become 3. The current rows, which a dump does not have, and which rrdtool chooses at
// random, are 0.
//
// The error is an [*XMLError], or the reader's.
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
	for p.ok() {
		name, ok := p.child()
		if !ok {
			break
		}
		switch name {
		case "version":
			version = leadingInt(p.text(5))
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
	}
	if p.ok() && p.x.next() != xmlEnd {
		p.x.broken("Extra content at the end of the document")
	}
	if p.ok() {
		p.x.err = p.unusable
	}
	if p.ok() {
		p.settle(version)
	}
}

// settle completes what was read, and refuses what rrdtool makes files of that it cannot read.
func (p *restorer) settle(version int) {
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
	nothing := make([]rra.CDP, len(d.Sources)) // of archives without cdp_prep
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

// What is remembered takes some twenty times the memory of the elements that say so. More than a
// series can have is not read.
const (
	maxElements = 1 << 16 // data sources; archives
	maxCells    = 1 << 20 // archives, times data sources
)

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
	s, x := &d.Sources[i], &p.f.State.Sources[i]
	typed := false
	for p.ok() {
		name, ok := p.child()
		if !ok {
			break
		}
		switch name {
		case "name":
			s.Name = p.text(nameSize)
		case "type":
			kind := p.text(nameSize)
			var err error
			if s.Kind, err = rra.ParseKind(kind); err != nil && p.ok() {
				p.x.fail("", "parse_tag_ds_type: Unknown data source type: %s", kind)
			}
			typed = true
		case "minimal_heartbeat":
			s.Heartbeat = int64(p.long())
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
	if !p.ok() {
		return
	}
	switch {
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

// expression reads the expression of data source i, which may refer to itself for rrdtool, and to
// those before it.
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
	for p.ok() {
		name, ok := p.child()
		if !ok {
			break
		}
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
	}
	if !p.ok() {
		return
	}
	switch {
	case !known:
		p.refuse("archive %d has no cf", i)
	case a.PDPs <= 0:
		p.refuse("archive %d: pdp_per_row %d cannot be", i, uint64(a.PDPs))
	}
	p.settleArchive(i)
}

// settleArchive drops what the CF has no use for.
func (p *restorer) settleArchive(i int) {
	a, x := &p.f.Definition.Archives[i], &p.f.State.Archives[i]
	if a.CF <= rra.Last {
		a.Partner = -1
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
	for p.ok() {
		name, ok := p.child()
		if !ok {
			return
		}
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
	}
}

// each reads one element of a name for each data source, up to the end of what holds them.
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
		case !ok: // rrdtool tells the two the wrong way around
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
	for p.ok() {
		name, ok := p.child()
		if !ok {
			return
		}
		switch name {
		case "primary_value":
			c.Primary = p.double()
		case "secondary_value":
			c.Secondary = p.double()
		case "value":
			c.Value = p.double()
		case "unknown_datapoints":
			c.Unknown = int64(p.long())
		case "intercept":
			c.Intercept = p.double()
		case "last_intercept":
			c.LastIntercept = p.double()
		case "slope":
			c.Slope = p.double()
		case "last_slope":
			c.LastSlope = p.double()
		case "nan_count":
			c.NullCount = int64(p.long())
		case "last_nan_count":
			c.LastNullCount = int64(p.long())
		case "seasonal":
			c.Seasonal = p.double()
		case "last_seasonal":
			c.LastSeasonal = p.double()
		case "init_flag":
			c.InitFlag = int64(p.long())
		case "history":
			c.History = p.history()
		default:
			p.x.fail("", "parse_tag_rra_cdp_prep: Unknown tag: %s", name)
		}
	}
}

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
	for p.ok() {
		name, ok := p.child()
		if !ok {
			return
		}
		if name != "row" {
			p.x.fail("line", "expected <%s> element but found <row>", name)
			return
		}
		p.each("v", row)
		a.Rows++
	}
}
