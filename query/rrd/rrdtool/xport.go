package rrdtool

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/query/rrd/numeral"
)

const xportUsage = `[OPTIONS] LINE…
  -s, --start TIME        rows after TIME (end-1d)
  -e, --end TIME          rows up to TIME (now)
  -m, --maxrows ROWS      a step of at least a ROWS-th of the range (400)
      --step SECONDS      a step of at least SECONDS
      --json              JSON instead of XML
  -t, --showtime          the time of each row
      --enumds            number the columns: <v0>, <v1>, …
  -d, --daemon ADDRESS    ask the server at ADDRESS
  LINE: DEF:NAME=SERIES:DS:CF[:step=SECONDS][:start=TIME][:end=TIME][:reduce=CF]
        CDEF:NAME=EXPRESSION, VDEF:NAME=VARIABLE,FUNCTION, SHIFT:NAME:SECONDS
        XPORT:NAME[:LEGEND]
        PRINT:VARIABLE[:CF]:FORMAT[:strftime], GPRINT, COMMENT:TEXT, TEXTALIGN:WHERE,
        LINE[WIDTH]:VALUE[#COLOR][:LEGEND], AREA, STACK, TICK, HRULE, VRULE: what a graph
        would write is printed beside the data`

var xportOptions = optionsIn(xportUsage)

// An xporting is one run of xport.
type xporting struct {
	*command
	program         *graphdata.Program // the lines
	server          string             // address of a daemon; empty: none
	json, time, num bool               // the options --json, --showtime and --enumds
	graph           bool               // it is graph that writes a data format
	base            int                // of SI prefixes; 0: 1000
	when            func(int64) string // how a time is written; nil: in seconds since 1970
}

func (c *command) newXporting(args []string) (x *xporting, o graphdata.Options, lines []string, err error) {
	x = &xporting{command: c}
	now := c.now()
	times := attime.NewRange(now)
	o = graphdata.Options{Now: now, Times: times.Times, WeekStart: c.locale.weekStart, Names: c.locale.names}
	maxRows := int64(400)
	lines, err = parse(args, xportOptions, func(name, arg string) error {
		switch name {
		case "start", "end":
			return times.Set(name, arg)
		case "maxrows":
			if maxRows = leadingInt(arg); maxRows < 10 {
				return errors.New("maxrows below 10 rows")
			}
		case "step":
			o.Step = leadingInt(arg)
		case "enumds":
			x.num = true
		case "json":
			x.json = true
		case "showtime":
			x.time = true
		case "daemon":
			x.server = arg
		}
		return nil
	})
	if err != nil {
		return nil, o, nil, err
	}
	if o.Start, o.End, err = times.Resolve(); err != nil {
		return nil, o, nil, err
	}
	o.Step = max(o.Step, (o.End-o.Start)/maxRows)
	return x, o, lines, graphdata.CheckRange(o.Start, o.End)
}

// xport prints columns of several series side by side.
func (c *command) xport(args []string) error {
	x, o, lines, err := c.newXporting(args)
	if err != nil {
		return err
	}
	if len(lines) == 0 {
		return errors.New("can't make an xport without contents")
	}
	x.program = graphdata.New(o)
	for _, line := range lines {
		if err := x.program.Add(line); err != nil {
			return err
		}
	}
	if err := c.daemon(x.server); err != nil {
		return err
	}
	if err := x.program.Run(c.ctx, &sources{c}); err != nil {
		return err
	}
	if len(x.program.Exports()) == 0 {
		return errNoExport
	}
	switch {
	case x.exact:
		x.printExact()
	case x.json:
		err = x.printJSON()
	default:
		err = x.printXML()
	}
	if err != nil {
		return err
	}
	return c.ctx.Err()
}

var errNoExport = errors.New("no XPORT found, nothing to do")

func (x *xporting) printXML() error {
	g, exports := x.program.Grid(), x.program.Exports()
	x.printf(`<?xml version="1.0" encoding="ISO-8859-1"?>

<xport>
  <meta>
    <start>%s</start>
    <end>%s</end>
    <step>%d</step>
    <rows>%d</rows>
    <columns>%d</columns>
    <legend>
`, x.appendTime(nil, g.Start+g.Step), x.appendTime(nil, g.End), g.Step, g.Rows(), len(exports))
	for _, e := range exports {
		x.printf("      <entry>%s</entry>\n", e.Legend)
	}
	x.printf("    </legend>\n")
	marks, err := x.program.Marks(x.base)
	if err != nil {
		return err
	}
	x.marksXML(marks)
	x.printf("  </meta>\n  <data>\n")
	begin, end := make([]string, len(exports)), make([]string, len(exports))
	for i := range exports {
		begin[i], end[i] = "<v>", "</v>"
		if x.num {
			begin[i], end[i] = fmt.Sprintf("<v%d>", i), fmt.Sprintf("</v%d>", i)
		}
	}
	x.rows(g, func(line []byte, at int64, cursors []graphdata.Cursor) []byte {
		line = append(line, "    <row>"...)
		if x.time {
			line = append(x.appendTime(append(line, "<t>"...), at), "</t>"...)
		}
		for i := range cursors {
			line = append(numeral.Append(append(line, begin[i]...), cursors[i].At(at)), end[i]...)
		}
		return append(line, "</row>\n"...)
	})
	x.printf("  </data>\n</xport>\n")
	return nil
}

func (x *xporting) printJSON() error {
	g, exports := x.program.Grid(), x.program.Exports()
	quote := ""
	if x.when != nil {
		quote = `"`
	}
	x.printf(`{ "about": "RRDtool graph JSON output",
  "meta": {
    "start": %[1]s%[2]s%[1]s,
    "end": %[1]s%[3]s%[1]s,
    "step": %[4]d,
    "legend": [
`, quote, x.appendTime(nil, g.Start+g.Step), x.appendTime(nil, g.End), g.Step)
	for i, e := range exports {
		comma := ","
		if i == len(exports)-1 {
			comma = ""
		}
		x.printf("      \"%s\"%s\n", e.Legend, comma)
	}
	x.printf("          ]\n")
	marks, err := x.program.Marks(x.base)
	if err != nil {
		return err
	}
	x.marksJSON(marks)
	x.printf("     },\n  \"data\": [")
	comma := ""
	x.rows(g, func(line []byte, at int64, cursors []graphdata.Cursor) []byte {
		line = append(append(line, comma...), "\n    [ "...)
		comma = ","
		if x.time {
			line = append(x.appendTime(append(line, '"'), at), "\","...)
		}
		for i := range cursors {
			if i > 0 {
				line = append(line, ", "...)
			}
			if v := cursors[i].At(at); math.IsNaN(v) || math.IsInf(v, 0) {
				line = append(line, "null"...)
			} else {
				line = numeral.Append(line, v)
			}
		}
		return append(line, " ]"...)
	})
	x.printf("\n  ]\n}\n")
	return nil
}

// appendTime appends a time as it is written.
func (x *xporting) appendTime(dst []byte, at int64) []byte {
	if x.when != nil {
		return append(dst, x.when(at)...)
	}
	return strconv.AppendInt(dst, at, 10)
}

// rows prints all rows; row appends one.
func (x *xporting) rows(g graphdata.Grid, row func(line []byte, at int64, cursors []graphdata.Cursor) []byte) {
	cursors := make([]graphdata.Cursor, 0, len(x.program.Exports()))
	for _, e := range x.program.Exports() {
		cursors = append(cursors, graphdata.NewCursor(x.program.Series(e.Variable)))
	}
	var line []byte
	for at := g.Start + g.Step; at <= g.End; at += g.Step {
		line = row(line[:0], at, cursors)
		if _, err := x.out.Write(line); err != nil || x.ctx.Err() != nil {
			return // the error is returned by Flush, or by the context
		}
	}
}

// printExact prints start, end, step and the number of columns, then the length and the text of
// each legend, and a line for each row.
func (x *xporting) printExact() {
	g, exports := x.program.Grid(), x.program.Exports()
	x.printf("%d %d %d %d\n", g.Start, g.End, g.Step, len(exports))
	for _, e := range exports {
		x.printf("%d\n%s\n", len(e.Legend), e.Legend)
	}
	values := make([]float64, len(exports))
	x.rows(g, func(line []byte, at int64, cursors []graphdata.Cursor) []byte {
		for i := range cursors {
			values[i] = cursors[i].At(at)
		}
		return appendExactRow(line, values)
	})
}

// A sources finds the series that DEF lines name.
type sources struct{ *command }

// Open finds the series that a DEF names.
func (s *sources) Open(_ context.Context, name, daemon string) (query.Store, core.Ref, error) {
	c := *s.command
	if err := c.daemon(daemon); err != nil {
		return nil, 0, err
	}
	ref, err := c.native(name)
	return c.Store, ref, err
}

// A section is a group of marks that xport prints beside the columns.
type section struct {
	name  string
	kinds map[graphdata.MarkKind]string
}

// sections are the sections of xport's output, in rrdtool's order. The text of a rule is not
// printed: rrdtool prints 0, or where times have a format the time of a VRULE.
var sections = []section{
	{"prints", map[graphdata.MarkKind]string{graphdata.PRINT: "print"}},
	{"gprints", map[graphdata.MarkKind]string{
		graphdata.GPRINT: "gprint", graphdata.COMMENT: "comment", graphdata.TEXTALIGN: "align",
		graphdata.LINE: "line", graphdata.AREA: "area", graphdata.STACK: "stack",
	}},
	{"rules", map[graphdata.MarkKind]string{graphdata.HRULE: "hrule", graphdata.VRULE: "vrule"}},
}

// entries returns the marks of a section, as pairs of a name and a text.
func (s section) entries(marks []graphdata.Mark, when func(int64) string) (entries [][2]string) {
	for _, m := range marks {
		name, ok := s.kinds[m.Kind]
		if !ok {
			continue
		}
		text := m.Text
		switch m.Kind {
		case graphdata.LINE: // and no other
			text = strings.TrimLeft(text, " \t\n\v\f\r")
		case graphdata.HRULE:
			text = "0.0000000000e+00"
		case graphdata.VRULE:
			if text = "0"; when != nil {
				text = when(int64(m.Drawing.Value))
			}
		}
		entries = append(entries, [2]string{name, text})
	}
	return entries
}

func (x *xporting) marksXML(marks []graphdata.Mark) {
	for _, s := range sections {
		entries := s.entries(marks, x.when)
		if len(entries) == 0 {
			continue
		}
		x.printf("    <%s>\n", s.name)
		for _, e := range entries {
			x.printf("        <%s>%s</%s>\n", e[0], e[1], e[0])
		}
		x.printf("    </%s>\n", s.name)
	}
}

var quotes = strings.NewReplacer(`"`, `\"`, `\`, `\\`)

// unquoted are the entries whose texts rrdtool puts into JSON as they are, quotes included.
var unquoted = []string{"line", "area", "stack"}

// marksJSON prints marks with rrdtool's commas, which are not valid JSON if there is a PRINT. Of
// graph the comma behind prints is there only if something follows, of xport always.
func (x *xporting) marksJSON(marks []graphdata.Mark) {
	var all [][][2]string // of each section
	for _, s := range sections {
		all = append(all, s.entries(marks, x.when))
	}
	for i, s := range sections {
		entries := all[i]
		if len(entries) == 0 {
			continue
		}
		before, after := ",", ""
		if i == 0 {
			before = ""
			if !x.graph || len(all[1])+len(all[2]) > 0 {
				after = ","
			}
		}
		x.printf("    %s\"%s\": [\n", before, s.name)
		for k, e := range entries {
			comma := ","
			if k == len(entries)-1 {
				comma = ""
			}
			text := e[1]
			if !slices.Contains(unquoted, e[0]) {
				text = quotes.Replace(text)
			}
			x.printf("        { \"%s\": \"%s\" }%s\n", e[0], text, comma)
		}
		x.printf("        ]%s\n", after)
	}
}
