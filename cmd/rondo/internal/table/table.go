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
type Writer interface {
	Row(values ...any) error
	// Close prints the rest of the output, which is incomplete without it.
	Close() error
}

// New returns a Writer of the named format, with the given columns.
func New(w io.Writer, format string, columns ...string) (Writer, error) {
	switch format {
	case "table", "":
		t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
		_, err := fmt.Fprintln(t, strings.ToUpper(strings.Join(columns, "\t")))
		return &text{t}, err
	case "json", "jsonl":
		return &objects{w: bufio.NewWriter(w), columns: columns, lines: format == "jsonl"}, nil
	case "csv":
		c := csv.NewWriter(w)
		return &separated{c}, c.Write(columns)
	case "tsv":
		t := &tabs{bufio.NewWriter(w)}
		_, err := fmt.Fprintln(t.w, strings.Join(columns, "\t"))
		return t, err
	}
	return nil, fmt.Errorf("output format %q is none of %s", format, strings.Join(Formats, ", "))
}

// cell returns v as text of one line.
func cell(v any) string {
	return escape.Escape(fmt.Sprint(v))
}

func cells(values []any) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = cell(v)
	}
	return out
}

type text struct{ w *tabwriter.Writer }

func (t *text) Row(values ...any) error {
	_, err := fmt.Fprintln(t.w, strings.Join(cells(values), "\t"))
	return err
}

func (t *text) Close() error { return t.w.Flush() }

type tabs struct{ w *bufio.Writer }

func (t *tabs) Row(values ...any) error {
	_, err := fmt.Fprintln(t.w, strings.Join(cells(values), "\t"))
	return err
}

func (t *tabs) Close() error { return t.w.Flush() }

type separated struct{ w *csv.Writer }

func (s *separated) Row(values ...any) error {
	record := make([]string, len(values))
	for i, v := range values {
		record[i] = fmt.Sprint(v)
	}
	return s.w.Write(record)
}

func (s *separated) Close() error {
	s.w.Flush()
	return s.w.Error()
}

// objects prints each row as an object, either one in each line or all in a list.
type objects struct {
	w       *bufio.Writer
	columns []string
	lines   bool
	rows    int
}

func (o *objects) Row(values ...any) error {
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

func (o *objects) Close() error {
	if !o.lines {
		end := "\n]\n"
		if o.rows == 0 {
			end = "[]\n"
		}
		_, _ = o.w.WriteString(end) // an error sticks
	}
	return o.w.Flush()
}
