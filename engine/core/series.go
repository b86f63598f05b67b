package core

import (
	"path"
	"strings"

	"github.com/rondo-db/rondo/engine/internal/match"
	"github.com/rondo-db/rondo/rra"
)

// A Label is a name and a value. A series has at most one label of each name.
//
//	Name, Value string
type Label = match.Label

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

	// Copy, if not nil, has the state and the rows with which the series begins, in place of Start
	// and SmoothHash. It has the path, the labels and the definition of the Spec.
	Copy *Copy
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
type MatchOp = match.Op

// The comparisons, as in Prometheus' selectors.
const (
	MatchEqual     = match.Equal
	MatchNotEqual  = match.NotEqual
	MatchRegexp    = match.Regexp
	MatchNotRegexp = match.NotRegexp
	MatchBelow     = match.Below // compares the path of a series; see [Below]
)

// A Matcher selects series by one label, or by their paths. A label that a series lacks is the
// empty string. Its fields are
//
//	Name    string
//	Op      MatchOp
//	Value   string
//	Regexp  *regexp.Regexp // of MatchRegexp and MatchNotRegexp; anchored; NewMatcher sets it
//	Folders []string       // of MatchBelow; clean; Below sets them
type Matcher = match.Matcher

// The limits of the expression of a Matcher.
const (
	// MaxExpression is the longest expression, in bytes.
	MaxExpression = match.MaxExpression
	// MaxProgram is the largest size of a compiled expression, in instructions, about 1 MB.
	MaxProgram = match.MaxProgram
)

// NewMatcher returns a matcher of the label name. It compares the label with value. For MatchRegexp
// and MatchNotRegexp, value is an expression for the whole label. The error wraps ErrInvalid if op
// does not exist, or if the expression does not parse or is too large.
func NewMatcher(op MatchOp, name, value string) (Matcher, error) {
	m, err := match.New(op, name, value)
	return m, asInvalid(err)
}

// Below returns a matcher of the series whose path is one of the folders, or below one. A trailing
// .rrd of a path does not count. Without folders no series matches.
func Below(folders ...string) Matcher {
	m := Matcher{Op: MatchBelow, Folders: make([]string, len(folders))}
	for i, f := range folders {
		m.Folders[i] = nameKey(path.Clean(strings.Trim(f, "/")))
	}
	return m
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

// LastUpdate returns the time of the last update.
func (x *Info) LastUpdate() rra.Time { return x.Machine.LastUpdate(x.State.W) }

// A Note is an event that is not a number: a collectd notification, say.
type Note struct {
	Time     rra.Time
	Severity string // failure, warning, okay
	Text     string
	Labels   []Label // all fields of the protocol
}
