package core

import (
	"regexp"

	"github.com/rondo-db/rondo/rra"
)

// A Label is a name and a value. A series has at most one label of each name.
type Label struct{ Name, Value string }

// LabelValue returns the value of the label of a name; "" if labels have none.
func LabelValue(labels []Label, name string) string {
	for i := range labels {
		if labels[i].Name == name {
			return labels[i].Value
		}
	}
	return ""
}

// A Spec describes a series to create.
type Spec struct {
	Path       string // unique; cleaned ("./", "//"); a trailing .rrd is kept and optional at look-up
	Labels     []Label
	Definition *rra.Definition
	Start      rra.Time // the last update of the new, empty series
	Overwrite  bool     // replace a series of the same path instead of ErrExists

	// SmoothHash is the [rra.NameHash] of the name that decides at which rows SEASONAL archives
	// smooth; 0: the hash of Path.
	SmoothHash uint64
}

// A Series is one entry of the catalogue.
type Series struct {
	Ref        Ref
	Path       string
	Labels     []Label
	Definition *rra.Definition
}

// Created is the outcome of one Spec of CreateBatch.
type Created struct {
	Ref Ref
	Err error // ErrExists (Ref is the existing series), ErrSeriesLimit, a definition error
}

// A MatchOp is how a Matcher compares.
type MatchOp int

// The comparisons, as in Prometheus' selectors.
const (
	MatchEqual MatchOp = iota
	MatchNotEqual
	MatchRegexp
	MatchNotRegexp
	MatchBelow // compares the path of a series; see [Below]
)

// A Matcher selects series by one label, or by their paths. A label that a series lacks is the
// empty string.
type Matcher struct {
	Name    string
	Op      MatchOp
	Value   string
	Regexp  *regexp.Regexp // of MatchRegexp and MatchNotRegexp; anchored; NewMatcher sets it
	Folders []string       // of MatchBelow; clean; Below sets them
}

// A Span is rows of one archive of a series: those that end after Start and at End or before it, in
// seconds since 1970, widened to whole rows. For the archive [OpenRow] the range does not matter.
type Span struct {
	Ref        Ref
	Archive    int
	Start, End int64
	Known      bool // leave out the unknown rows in front of the first known one
}

// Spans returns the same rows of several series.
func Spans(refs []Ref, archive int, start, end int64) []Span {
	out := make([]Span, len(refs))
	for i, ref := range refs {
		out[i] = Span{Ref: ref, Archive: archive, Start: start, End: end}
	}
	return out
}

// Rows are consecutive rows of one archive. Row i of data source j is Values[i*len(DS)+j] and ends
// at Start + (i+1)*Step. Unknown values are NaN.
type Rows struct {
	Start  int64 // seconds; rows cover (Start, End]
	End    int64
	Step   int64 // seconds a row
	DS     []string
	Values []float64
	First  int64 // of an open row: no archive knows anything up to this second; 0: it may know all
}

// Info is a series with a copy of its state, for printing.
type Info struct {
	Series
	Machine *rra.Machine
	State   rra.State
}

// A Note is an event that is not a number: a collectd notification, say.
type Note struct {
	Time     rra.Time
	Severity string // failure, warning, okay
	Text     string
	Labels   []Label // all fields of the protocol
}
