package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/rra/rpn"
)

const infoUsage = `NAME [OPTIONS]
  -d, --daemon ADDRESS    ask the server at ADDRESS
  -F, --noflush           no effect: rondo has nothing to flush`

var infoOptions = optionsIn(infoUsage)

// info prints the definition and the state of a series.
func (c *command) info(args []string) error {
	name, ref, err := c.one(args, infoOptions, "Usage: rrdtool info [--daemon |-d <addr> [--noflush|-F]] <file>")
	if err != nil {
		if name != "" && c.Extra != nil && !errors.Is(err, core.ErrUnavailable) {
			if only, failed := c.onlyExtra(name); only || failed != nil {
				return failed
			}
		}
		return err
	}
	info, err := c.Store.Info(ref)
	if err != nil {
		return named(name, err)
	}
	version := rrdfile.VersionOf(info.Definition)
	if s, ok := c.Store.(*transfer.Single); ok {
		version = s.File().Version
	}
	for _, l := range infoLines(name, &info, version) {
		c.infoLine(l)
	}
	if c.Extra != nil {
		for _, l := range info.Labels {
			c.quoted("label["+l.Name+"]", l.Value)
		}
		if _, err := c.extra(info.Path, func() {}); err != nil {
			return err
		}
	}
	return nil
}

// An InfoKind is the type of the value in an InfoLine. The numbers come from rrdtool and from
// rrdcached's protocol.
type InfoKind int

// The kinds of values.
const (
	InfoValue  InfoKind = 0 // a double; NaN means unknown
	InfoCount  InfoKind = 1 // an integer that is not negative
	InfoString InfoKind = 2
	InfoInt    InfoKind = 3
)

// An InfoLine is one line of info. Value is the text of the value without quotes.
type InfoLine struct {
	Key   string
	Kind  InfoKind
	Value string

	number float64 // the value itself, if Kind is InfoValue
}

func (c *command) infoLine(l InfoLine) {
	if l.Kind == InfoString {
		if c.exact {
			l.Value = oneLine.Replace(l.Value)
		}
		c.printf("%s = \"%s\"\n", l.Key, l.Value)
		return
	}
	if c.exact && l.Kind == InfoValue {
		l.Value = string(appendExact(nil, l.number))
	} else if l.Kind == InfoValue {
		l.Value = string(c.locale.local([]byte(l.Value), 0))
	}
	c.printf("%s = %s\n", l.Key, l.Value)
}

// Info returns the lines that rrdtool's info prints for a series. name is the name of the file in
// them.
func Info(name string, info *core.Info) []InfoLine {
	return infoLines(name, info, rrdfile.VersionOf(info.Definition))
}

// infoLines is Info for a file of a version.
func infoLines(name string, info *core.Info, version int) []InfoLine {
	p := &printer{info: info, version: version}
	p.text("filename", name)
	p.text("rrd_version", fmt.Sprintf("%04d", version))
	p.integer("step", info.Definition.Step)
	p.integer("last_update", info.LastUpdate().Unix())
	p.integer("header_size", rrdfile.HeaderSize(info.Definition, version))
	for i := range info.Definition.Sources {
		p.source(i)
	}
	for i := range info.Definition.Archives {
		p.archive(i)
	}
	return p.lines
}

// A printer collects the lines of info.
type printer struct {
	info    *core.Info
	version int
	lines   []InfoLine
}

func (p *printer) add(key string, kind InfoKind, v string) {
	p.lines = append(p.lines, InfoLine{Key: key, Kind: kind, Value: v})
}

func (p *printer) text(key, v string)          { p.add(key, InfoString, v) }
func (p *printer) integer(key string, v int64) { p.add(key, InfoCount, strconv.FormatInt(v, 10)) }
func (p *printer) number(key string, v float64) {
	p.lines = append(p.lines, InfoLine{key, InfoValue, infoValue(v), v})
}

// infoValue returns a value in the form in which info and updatev print it.
func infoValue(v float64) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	return string(appendValue(nil, v))
}

func (p *printer) source(i int) {
	d := p.info.Definition
	s := &d.Sources[i]
	key := func(k string) string { return "ds[" + s.Name + "]." + k }
	p.integer(key("index"), int64(i))
	p.text(key("type"), s.Kind.String())
	if s.Kind == rra.Compute {
		p.text(key("cdef"), expression(d, i))
	} else {
		p.integer(key("minimal_heartbeat"), s.Heartbeat)
		p.number(key("min"), s.Min)
		p.number(key("max"), s.Max)
	}
	value, unknown := p.info.Machine.PDP(&p.info.State, i)
	p.text(key("last_ds"), p.info.Machine.LastReading(&p.info.State, i))
	p.number(key("value"), value)
	p.integer(key("unknown_sec"), unknown)
}

// expression returns the expression of data source i, which is COMPUTE, as rrdtool prints it.
func expression(d *rra.Definition, i int) string {
	p, err := rpn.Compile(d.Sources[i].Expr, rra.SourceNames(d.Sources[:i]))
	if err != nil {
		return d.Sources[i].Expr
	}
	return p.String()
}

func (p *printer) archive(i int) {
	d, m, s := p.info.Definition, p.info.Machine, &p.info.State
	a := &d.Archives[i]
	key := func(k string) string { return fmt.Sprintf("rra[%d].%s", i, k) }
	p.text(key("cf"), a.CF.String())
	p.integer(key("rows"), a.Rows)
	p.integer(key("cur_row"), m.CurRow(s, i))
	p.integer(key("pdp_per_row"), a.PDPs)
	switch a.CF {
	case rra.HWPredict, rra.MHWPredict:
		p.number(key("alpha"), a.Alpha)
		p.number(key("beta"), a.Beta)
	case rra.Seasonal, rra.DevSeasonal:
		p.number(key("gamma"), a.Gamma)
		if p.version >= 4 {
			p.number(key("smoothing_window"), rrdfile.Smoothing(a))
		}
	case rra.Failures:
		p.number(key("delta_pos"), a.DeltaPos)
		p.number(key("delta_neg"), a.DeltaNeg)
		p.integer(key("failure_threshold"), int64(a.Threshold))
		p.integer(key("window_length"), int64(a.Window))
	case rra.DevPredict:
	default:
		p.number(key("xff"), a.XFF)
	}
	for ds := range d.Sources {
		cdp := m.CDP(s, i, ds)
		prep := func(k string) string { return key(fmt.Sprintf("cdp_prep[%d].%s", ds, k)) }
		switch a.CF {
		case rra.HWPredict, rra.MHWPredict:
			p.number(prep("intercept"), cdp.Intercept)
			p.number(prep("slope"), cdp.Slope)
			p.integer(prep("NaN_count"), cdp.NullCount)
		case rra.Seasonal:
			p.number(prep("seasonal"), cdp.Seasonal)
		case rra.DevSeasonal:
			p.number(prep("deviation"), cdp.Seasonal)
		case rra.DevPredict:
		case rra.Failures:
			p.text(prep("history"), cdp.History)
		default:
			p.number(prep("value"), cdp.Value)
			p.integer(prep("unknown_datapoints"), cdp.Unknown)
		}
	}
}

// The rest of info is what rrdtool does not have.

// quoted prints a text that came from outside, with control characters escaped.
func (c *command) quoted(key, v string) { c.printf("%s = %s\n", key, strconv.Quote(v)) }

// onlyExtra prints metadata and notes of a path that is not a series. It reports whether there are
// any.
func (c *command) onlyExtra(name string) (bool, error) {
	path, err := c.Path(name)
	if err != nil {
		return false, nil
	}
	return c.extra(path, func() { c.printf("filename = \"%s\"\n", name) })
}

// extra prints the metadata and the notes of a path, behind what head prints. It reports whether
// there are any; without them head is not called.
func (c *command) extra(path string, head func()) (bool, error) {
	m, err := c.Extra.Metadata(path)
	var byKey map[string][]core.Note
	if err == nil || errors.Is(err, core.ErrNotFound) {
		byKey, err = c.Extra.Notes(c.ctx, path)
	}
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	notes := byKey[path]
	if m.Time == 0 && len(notes) == 0 {
		return false, nil
	}
	head()
	if m.Time != 0 {
		c.metadata(&m)
	}
	for i, n := range notes {
		key := "note[" + strconv.Itoa(i) + "]."
		c.printf("%stime = %s\n", key, seconds(n.Time))
		c.quoted(key+"severity", n.Severity)
		c.quoted(key+"text", n.Text)
	}
	return true, nil
}

func (c *command) metadata(m *core.Metadata) {
	c.printf("metadata_time = %s\n", seconds(m.Time))
	if m.Text != "" {
		c.quoted("text", m.Text)
	}
	for _, a := range m.Attributes {
		c.quoted("attribute["+a.Name+"]", a.Value)
	}
	if m.Expire > 0 {
		c.printf("expire = %d\n", m.Expire)
	}
	if m.Expired {
		c.printf("expired = 1\n")
	}
}

func seconds(t rra.Time) string { return strconv.FormatInt(t.Unix(), 10) }
