// Package metrics writes Prometheus' text exposition format, version 0.0.4.
package metrics

import (
	"bufio"
	"io"
	"math"
	"strconv"
	"strings"
)

// ContentType is the media type of a Writer's text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// A Writer writes families of samples. Flush returns the first error.
type Writer struct {
	w      *bufio.Writer
	family string
	line   []byte // what is being put together: room that is used again
}

// NewWriter returns a Writer that writes to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w: bufio.NewWriter(w)} }

// Gauge writes a family that consists of one gauge.
func (w *Writer) Gauge(name, help string, v float64) {
	w.Family(name, "gauge", help)
	w.Sample(v)
}

// Counter writes a family that consists of one counter. Its name must end in _total.
func (w *Writer) Counter(name, help string, v float64) {
	w.Family(name, "counter", help)
	w.Sample(v)
}

// Family begins the family name, of kind gauge, counter or histogram.
func (w *Writer) Family(name, kind, help string) {
	w.family = name
	b := append(append(w.line[:0], "# HELP "...), name...)
	b = appendEscaped(append(b, ' '), help, helpEscaper)
	b = append(append(b, "\n# TYPE "...), name...)
	b = append(append(append(b, ' '), kind...), '\n')
	w.write(b)
}

// Sample writes a sample of the last family. labels are names and values in turn.
func (w *Writer) Sample(v float64, labels ...string) { w.sample("", v, labels) }

// sample writes a sample whose name is the last family's and suffix.
func (w *Writer) sample(suffix string, v float64, labels []string) {
	b := appendLabels(append(append(w.line[:0], w.family...), suffix...), labels)
	if len(labels) > 1 {
		b = append(b, '}')
	}
	w.write(append(appendNumber(append(b, ' '), v), '\n'))
}

// Histogram writes a sample of the last family, whose kind is histogram. buckets calls its argument
// for each bucket except the last, in order, with the upper bound and the number of observations up
// to it. count and sum cover all observations.
func (w *Writer) Histogram(buckets func(func(bound float64, n uint64)), count uint64, sum float64, labels ...string) {
	// All buckets begin alike.
	b := appendLabels(append(append(w.line[:0], w.family...), "_bucket"...), labels)
	if len(labels) > 1 {
		b = append(b, ',')
	} else {
		b = append(b, '{')
	}
	b = append(b, `le="`...)
	start := len(b)
	bucket := func(bound float64, n uint64) {
		b = append(appendNumber(b[:start], bound), `"} `...)
		b = append(appendNumber(b, float64(n)), '\n')
		w.write(b)
	}
	buckets(bucket)
	bucket(math.Inf(1), count)
	w.sample("_sum", sum, labels)
	w.sample("_count", float64(count), labels)
}

// write writes a line and keeps its room.
func (w *Writer) write(line []byte) {
	w.line = line
	_, _ = w.w.Write(line) // the bufio.Writer keeps the first error for Flush
}

// Flush writes the buffered text and returns the first error of all writes.
func (w *Writer) Flush() error { return w.w.Flush() }

var (
	helpEscaper  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// appendLabels appends labels, names and values in turn, without the bracket at their end.
func appendLabels(b []byte, labels []string) []byte {
	sep := byte('{')
	for i := 0; i+1 < len(labels); i += 2 {
		b = append(append(append(b, sep), labels[i]...), `="`...)
		b = append(appendEscaped(b, labels[i+1], labelEscaper), '"')
		sep = ','
	}
	return b
}

// appendEscaped appends s, with what e replaces replaced.
func appendEscaped(b []byte, s string, e *strings.Replacer) []byte {
	if !strings.ContainsAny(s, "\\\n\"") {
		return append(b, s...)
	}
	return append(b, e.Replace(s)...)
}

// appendNumber appends v, integers without an exponent.
func appendNumber(b []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}
