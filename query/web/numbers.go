package web

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/numeral"
)

// columns writes the columns of a graph in a format of numbers.
func columns(ctx context.Context, format string, p *graphdata.Program) ([]byte, error) {
	t := table{ctx: ctx, grid: p.Grid()}
	if n := t.grid.Rows() * int64(len(p.Exports())); n > maxSent {
		return nil, wrong("the answer has %d values, at most %d are possible: ask for a shorter time, or for a longer step=", n, maxSent)
	}
	for _, e := range p.Exports() {
		t.legends = append(t.legends, e.Legend)
		t.cursors = append(t.cursors, graphdata.NewCursor(p.Series(e.Variable)))
	}
	switch format {
	case "json":
		t.json()
	case "xml":
		t.xml()
	case "tsv":
		t.separated('\t')
	case "ssv":
		t.separated(';')
	default:
		t.separated(',')
	}
	return t.Bytes(), ctx.Err()
}

// A table writes columns of numbers, as rrdtool's xport does. Beyond it every text is escaped, and
// each row has its time.
type table struct {
	bytes.Buffer
	ctx     context.Context // ends the table
	grid    graphdata.Grid
	legends []string
	cursors []graphdata.Cursor
}

// rows calls row for each row, with its time in seconds since 1970.
func (t *table) rows(row func(b []byte, at int64) []byte) {
	var b []byte
	for at := t.grid.Start + t.grid.Step; at <= t.grid.End; at += t.grid.Step {
		if t.ctx.Err() != nil {
			return // columns returns the error
		}
		b = row(b[:0], at)
		t.Write(b)
	}
}

func (t *table) json() {
	legends, err := json.Marshal(t.legends)
	if err != nil {
		legends = []byte("[]") // texts are never wrong
	}
	t.head(`{"meta":{"start":%d,"end":%d,"step":%d,"legend":%s},"data":[`, t.grid.Start+t.grid.Step, t.grid.End, t.grid.Step, legends)
	comma := ""
	t.rows(func(b []byte, at int64) []byte {
		b = strconv.AppendInt(append(append(b, comma...), "\n["...), at, 10)
		comma = ","
		for i := range t.cursors {
			b = append(b, ',')
			if v := t.cursors[i].At(at); math.IsNaN(v) || math.IsInf(v, 0) {
				b = append(b, "null"...)
			} else {
				b = numeral.Append(b, v)
			}
		}
		return append(b, ']')
	})
	t.WriteString("\n]}\n")
}

func (t *table) xml() {
	t.head(`<?xml version="1.0" encoding="UTF-8"?>

<xport>
  <meta>
    <start>%d</start>
    <end>%d</end>
    <step>%d</step>
    <rows>%d</rows>
    <columns>%d</columns>
    <legend>
`, t.grid.Start+t.grid.Step, t.grid.End, t.grid.Step, t.grid.Rows(), len(t.cursors))
	for _, l := range t.legends {
		t.WriteString("      <entry>")
		_ = xml.EscapeText(t, []byte(l)) // memory takes all
		t.WriteString("</entry>\n")
	}
	t.WriteString("    </legend>\n  </meta>\n  <data>\n")
	t.rows(func(b []byte, at int64) []byte {
		b = append(strconv.AppendInt(append(b, "    <row><t>"...), at, 10), "</t>"...)
		for i := range t.cursors {
			b = append(numeral.Append(append(b, "<v>"...), t.cursors[i].At(at)), "</v>"...)
		}
		return append(b, "</row>\n"...)
	})
	t.WriteString("  </data>\n</xport>\n")
}

// separated writes lines of values in quotes.
func (t *table) separated(separator byte) {
	t.WriteString(`"time"`)
	for _, l := range t.legends {
		t.head("%c\"%s\"", separator, strings.ReplaceAll(l, `"`, `""`))
	}
	t.WriteByte('\n')
	t.rows(func(b []byte, at int64) []byte {
		b = strconv.AppendInt(b, at, 10)
		for i := range t.cursors {
			b = append(numeral.Append(append(b, separator, '"'), t.cursors[i].At(at)), '"')
		}
		return append(b, '\n')
	})
}

func (t *table) head(format string, args ...any) {
	_, _ = fmt.Fprintf(t, format, args...) // memory takes all
}
