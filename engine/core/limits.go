package core

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/internal/match"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/wal"
)

// Creating, importing or altering a series checks these limits and the ones of rra/limits.go before
// it changes anything. Series that are stored already are not checked: lowering a limit removes
// nothing. docs/limits.md lists all limits.
const (
	// DefaultMaxRows is the largest number of rows of one archive if Options.MaxRows is 0: a row a
	// second for three years.
	DefaultMaxRows = 100_000_000
	// MaxPath is the longest path of a series, in bytes.
	MaxPath = 4096
	// MaxLabels is the largest number of labels of a series.
	MaxLabels = 256
	// MaxLabel is the longest label, name and value together, in bytes.
	MaxLabel = match.MaxLabel
	// MaxLabelBytes is the largest size of all labels of a series, names and values, in bytes.
	MaxLabelBytes = 64 << 10
	// MaxDefinition is the largest definition in the form in which it is stored, in bytes.
	MaxDefinition = 1 << 20
	// MaxBatch is the largest number of series that one call of CreateBatch makes.
	MaxBatch = 1 << 16
	// MaxClasses is how many different shapes the series of a store may have: step, number of data
	// sources, and functions and lengths of archives. Shapes of series that are gone count.
	MaxClasses = 1<<16 - 1
)

// checkRecord refuses a record that the log cannot hold.
func checkRecord(rec []byte) error {
	if n := len(rec); n > wal.MaxRecord {
		return invalid("a record of %d bytes, at most %d are possible", n, wal.MaxRecord)
	}
	return nil
}

// checkNewLabels is checkLabels for the labels of a series that is made.
func checkNewLabels(labels []Label) error { return checkTexts(labels, text.Check, text.CheckLines) }

// checkLabels checks labels that may be of a series of an older store, which took hidden
// characters.
func checkLabels(labels []Label) error {
	return checkTexts(labels, text.Printable, text.PrintableLines)
}

// checkAttributes is checkLabels for attributes. Their values are texts that may have several
// lines.
func checkAttributes(labels []Label) error {
	return checkTexts(labels, text.Printable, func(v string) error {
		if !utf8.ValidString(v) || strings.IndexByte(v, 0) >= 0 {
			return errors.New("is no UTF-8 or holds a zero byte")
		}
		return nil
	})
}

// checkTexts checks labels: their names by name, their values by value, and the rest.
func checkTexts(labels []Label, name, value func(string) error) error {
	if n := len(labels); n > MaxLabels {
		return invalid("%d labels, at most %d are possible", n, MaxLabels)
	}
	var names [16]string // most series have fewer
	sorted, size := names[:0], 0
	for _, l := range labels {
		size += len(l.Name) + len(l.Value)
		if l.Name == "" || len(l.Name)+len(l.Value) > MaxLabel {
			return invalid("label %.40q=%.40q is empty or longer than %d bytes", l.Name, l.Value, MaxLabel)
		}
		if err := name(l.Name); err != nil {
			return invalid("label %.40q=%.40q: its name %w", l.Name, l.Value, err)
		}
		if err := value(l.Value); err != nil {
			return invalid("label %.40q=%.40q: its value %w", l.Name, l.Value, err)
		}
		sorted = append(sorted, l.Name)
	}
	if size > MaxLabelBytes {
		return invalid("labels of %d bytes, at most %d are possible", size, MaxLabelBytes)
	}
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		if sorted[i] == sorted[i-1] {
			return invalid("label %.40q is there twice", sorted[i])
		}
	}
	return nil
}
