// Package metrics writes Prometheus' text exposition format, version 0.0.4.
package metrics

import (
	"bufio"
	"fmt"
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
	// The bufio.Writer keeps the first error for Flush.
	_, _ = fmt.Fprintf(w.w, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscaper.Replace(help), name, kind)
}

// Sample writes a sample of the last family. labels are names and values in turn.
func (w *Writer) Sample(v float64, labels ...string) {
	_, _ = w.w.WriteString(w.family)
	for i := 0; i+1 < len(labels); i += 2 {
		sep := `{`
		if i > 0 {
			sep = `,`
		}
		_, _ = fmt.Fprintf(w.w, `%s%s="%s"`, sep, labels[i], labelEscaper.Replace(labels[i+1]))
	}
	if len(labels) > 1 {
		_ = w.w.WriteByte('}')
	}
	_ = w.w.WriteByte(' ')
	_, _ = w.w.WriteString(format(v))
	_ = w.w.WriteByte('\n')
}

// Histogram writes a sample of the last family, whose kind is histogram. buckets calls its argument
// for each bucket except the last, in order, with the upper bound and the number of observations up
// to it. count and sum are those of all observations.
func (w *Writer) Histogram(buckets func(func(bound float64, n uint64)), count uint64, sum float64, labels ...string) {
	family := w.family
	w.family = family + "_bucket"
	buckets(func(bound float64, n uint64) {
		w.Sample(float64(n), append(labels[:len(labels):len(labels)], "le", format(bound))...)
	})
	w.Sample(float64(count), append(labels[:len(labels):len(labels)], "le", "+Inf")...)
	w.family = family + "_sum"
	w.Sample(sum, labels...)
	w.family = family + "_count"
	w.Sample(float64(count), labels...)
	w.family = family
}

// Flush writes the buffered text and returns the first error of all writes.
func (w *Writer) Flush() error { return w.w.Flush() }

var (
	helpEscaper  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscaper = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func format(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "+Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
