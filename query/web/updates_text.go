package web

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
)

// xml writes an export as the daemon does. There is no blank between elements, because consumers
// count the children of an element. The newest row comes first.
func (e *export) xml() []byte {
	var b bytes.Buffer
	e.format(&b, `<?xml version="1.0"?><xport><meta><start>%d</start><step>%d</step><end>%d</end><rows>%d</rows><columns>%d</columns><legend>`)
	for _, c := range e.columns {
		b.WriteString("<entry>")
		_ = xml.EscapeText(&b, []byte(c.legend)) // memory takes all
		b.WriteString("</entry>")
	}
	b.WriteString("</legend></meta><data>")
	var line []byte
	for k := e.height() - 1; k >= 0; k-- {
		line = append(strconv.AppendInt(append(line[:0], "<row><t>"...), e.start+k*e.step, 10), "</t>"...)
		for i := range e.columns {
			line = append(appendPlain(append(line, "<v>"...), e.value(i, k)), "</v>"...)
		}
		b.Write(append(line, "</row>"...))
	}
	b.WriteString("</data></xport>")
	return b.Bytes()
}

// json writes an export as the daemon does: values are texts, so that NaN has a place. The newest
// row comes first.
func (e *export) json() []byte {
	legends := make([]string, 0, len(e.columns))
	for _, c := range e.columns {
		legends = append(legends, c.legend)
	}
	legend, err := json.Marshal(legends)
	if err != nil {
		legend = []byte("[]") // texts are never wrong
	}
	var b bytes.Buffer
	e.format(&b, `{"meta":{"start":%d,"step":%d,"end":%d,"rows":%d,"columns":%d,"legend":`)
	b.Write(legend)
	b.WriteString(`},"data":[`)
	var line []byte
	for k := e.height() - 1; k >= 0; k-- {
		line = append(strconv.AppendInt(append(line[:0], `{"t":`...), e.start+k*e.step, 10), `,"values":[`...)
		for i := range e.columns {
			if i > 0 {
				line = append(line, ',')
			}
			line = append(appendPlain(append(line, '"'), e.value(i, k)), '"')
		}
		line = append(line, "]}"...)
		if k > 0 {
			line = append(line, ',')
		}
		b.Write(line)
	}
	b.WriteString("]}")
	return b.Bytes()
}

func (e *export) format(b *bytes.Buffer, format string) {
	// Memory takes all.
	_, _ = fmt.Fprintf(b, format, e.start, e.step, e.end, e.height(), len(e.columns))
}

// value returns the value of a column in a row; the oldest row is 0.
func (e *export) value(column int, row int64) float64 {
	return e.data[int64(column)*e.height()+row]
}

// appendPlain appends a value in as few digits as say it exactly.
func appendPlain(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, "NaN"...)
	case math.IsInf(v, 1):
		return append(b, "Infinity"...)
	case math.IsInf(v, -1):
		return append(b, "-Infinity"...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
