// Package table prints rows in the formats that rondo's own commands offer.
package table

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	escape "github.com/rondo-db/rondo/internal/text"
)

// Formats are the names of the formats. The first is the default.
var Formats = []string{"table", "json", "jsonl", "csv", "tsv"}

// A Writer prints rows with one value for each column.
type Writer struct {
	row   func(values []any) error
	close func() error
	err   error // the first one
}

// New returns a Writer of the named format, with the given columns.
func New(w io.Writer, format string, columns ...string) *Writer {
	switch format {
	case "table", "":
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		return lines(t, t.Flush, strings.ToUpper(strings.Join(columns, "\t")))
	case "json", "jsonl":
		o := &objects{w: bufio.NewWriter(w), columns: columns, lines: format == "jsonl"}
		return &Writer{row: o.row, close: o.close}
	case "csv":
		return separated(csv.NewWriter(w), columns)
	case "tsv":
		b := bufio.NewWriter(w)
		return lines(b, b.Flush, strings.Join(columns, "\t"))
	}
	return &Writer{err: fmt.Errorf("output format %q is none of %s", format, strings.Join(Formats, ", "))}
}

// Row prints a row, unless something has gone wrong before.
func (w *Writer) Row(values ...any) {
	if w.err == nil {
		w.err = w.row(values)
	}
}

// Close prints the rest of the output, which is incomplete without it. It returns what has gone
// wrong first.
func (w *Writer) Close() error {
	if w.err == nil {
		w.err = w.close()
	}
	return w.err
}

// lines prints each row as a line of cells with tabs between.
func lines(w io.Writer, flush func() error, head string) *Writer {
	_, err := fmt.Fprintln(w, head)
	return &Writer{err: err, close: flush, row: func(values []any) error {
		cells := make([]string, len(values))
		for i, v := range values {
			cells[i] = escape.Escape(fmt.Sprint(v))
		}
		_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
		return err
	}}
}

func separated(w *csv.Writer, columns []string) *Writer {
	flush := func() error {
		w.Flush()
		return w.Error()
	}
	return &Writer{err: w.Write(columns), close: flush, row: func(values []any) error {
		record := make([]string, len(values))
		for i, v := range values {
			record[i] = fmt.Sprint(v)
		}
		return w.Write(record)
	}}
}

// objects prints each row as an object, either one in each line or all in a list.
type objects struct {
	w       *bufio.Writer
	columns []string
	lines   bool
	rows    int
}

func (o *objects) row(values []any) error {
	if !o.lines {
		sep := ",\n "
		if o.rows == 0 {
			sep = "[\n "
		}
		_, _ = o.w.WriteString(sep) // an error sticks
	}
	o.rows++
	for i, v := range values {
		sep := ", "
		if i == 0 {
			sep = "{"
		}
		data, err := json.Marshal(v)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(o.w, "%s%q: %s", sep, o.columns[i], data)
	}
	_, err := o.w.WriteString("}")
	if o.lines {
		err = o.w.WriteByte('\n')
	}
	return err
}

func (o *objects) close() error {
	if !o.lines {
		end := "\n]\n"
		if o.rows == 0 {
			end = "[]\n"
		}
		_, _ = o.w.WriteString(end) // an error sticks
	}
	return o.w.Flush()
}
