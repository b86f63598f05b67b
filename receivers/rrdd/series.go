package rrdd

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Vocabulary is how a word that changed its meaning in 2016 is read.
type Vocabulary uint8

// The vocabularies.
const (
	Auto   Vocabulary = iota // as File.Legacy says, a file at a time
	Legacy                   // absolute is a plain measurement
	Modern                   // absolute is a count since the last reading
)

var vocabularyWords = []string{"auto", "legacy", "modern"}

// String returns the word.
func (v Vocabulary) String() string { return wordOf(vocabularyWords, int(v)) }

// Kind returns the kind of the series of a data source in a file of the given sources.
func (v Vocabulary) Kind(s *Source, all []Source) rra.Kind {
	return s.kind(v.legacy(all))
}

func (v Vocabulary) legacy(all []Source) bool { return v == Legacy || v == Auto && legacy(all) }

func (s *Source) kind(legacy bool) rra.Kind {
	switch s.Type {
	case Gauge:
		return rra.Gauge
	case Absolute:
		if legacy {
			return rra.Gauge
		}
		return rra.Absolute
	case Rate:
		return rra.Absolute
	}
	if s.ValueType == Int64 {
		return rra.Derive
	}
	return rra.DDerive // the time a processor has worked is a float
}

// Identify returns what the series of a data source of a plugin is called: rrdd/PLUGIN/host/NAME,
// rrdd/PLUGIN/vm/UUID/NAME or rrdd/PLUGIN/sr/UUID/NAME.
func Identify(plugin string, s *Source) receivers.Identity {
	path := append(make([]byte, 0, 128), "rrdd/"...)
	path = append(receivers.AppendComponent(path, plugin), '/')
	path = append(append(path, s.Owner.String()...), '/')
	if s.Owner != Host {
		path = append(receivers.AppendComponent(path, s.UUID), '/')
	}
	path = receivers.AppendComponent(path, s.Name)
	labels := []core.Label{
		{Name: "plugin", Value: label(plugin)},
		{Name: "owner", Value: s.Owner.String()},
		{Name: "uuid", Value: label(s.UUID)},
		{Name: "units", Value: label(s.Units)},
		{Name: "description", Value: label(s.Description)},
		{Name: "default", Value: strconv.FormatBool(s.Default)},
		{Name: "transform", Value: s.Transform.String()},
	}
	return receivers.Identity{
		Path:   string(path),
		Labels: slices.DeleteFunc(labels, func(l core.Label) bool { return l.Value == "" }),
	}
}

// maxLabel is how much of a text is kept as a label; the store takes 4096 bytes with the name.
const maxLabel = 4000

// label returns text as the store takes it: zero bytes become U+FFFD, and the end of one that is
// too long is cut off.
func label(text string) string {
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if len(text) > maxLabel {
		text = strings.ToValidUTF8(text[:maxLabel], "") // a character that was cut
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// described reports whether s has attributes.
func (s *Source) described() bool { return s.Description != "" || s.Units != "" }

// attributes returns what is told of the series beside its labels, in order of the names.
func (s *Source) attributes() []core.Label {
	var as []core.Label
	if s.Description != "" {
		as = append(as, core.Label{Name: "description", Value: label(s.Description)})
	}
	if s.Units != "" {
		as = append(as, core.Label{Name: "units", Value: label(s.Units)})
	}
	return as
}

// What the daemon keeps: steps of 5 s as they are for 10 minutes, as minutes for 2 hours, as hours
// for a week, and as days for a year.
const (
	step      = 5
	heartbeat = 300
	xff       = 0.5
)

var spans = [...]struct{ row, rows int64 }{{5, 120}, {60, 120}, {3600, 168}, {86400, 366}}

// Define returns the definition of the series of a data source of kind k. A step of 0 is the
// daemon's, 5 seconds; with another, the archives have rows for as long a time.
func (s *Source) Define(k rra.Kind, seconds int64) *rra.Definition {
	if seconds <= 0 {
		seconds = step
	}
	ds := rra.DataSource{Name: "value", Kind: k, Heartbeat: max(heartbeat, 2*seconds), Min: math.NaN(), Max: math.NaN()}
	if u := s.unbounded(); !math.IsInf(u.Min, 0) {
		ds.Min = u.Min
	}
	if u := s.unbounded(); !math.IsInf(u.Max, 0) {
		ds.Max = u.Max
	}
	d := &rra.Definition{Step: seconds, Sources: []rra.DataSource{ds}}
	for _, span := range spans {
		pdps := max(span.row/seconds, 1)
		row := pdps * seconds
		a := rra.Archive{CF: rra.Average, XFF: xff, PDPs: pdps, Rows: (span.row*span.rows + row - 1) / row}
		if n := len(d.Archives); n > 0 && d.Archives[n-1].PDPs == pdps {
			d.Archives = d.Archives[:n-1] // the longer one has its rows
		}
		d.Archives = append(d.Archives, a)
	}
	return d
}

// fits reports whether readings of s go into the series with the definition d. ambiguous says that
// the file's word alone decides between GAUGE and ABSOLUTE: then what the series was made as holds.
func (s *Source) fits(d *rra.Definition, k rra.Kind, ambiguous bool) bool {
	if len(d.Sources) != 1 {
		return false
	}
	switch have := d.Sources[0].Kind; have {
	case k:
		return true
	case rra.DDerive: // also takes integers
		return k == rra.Derive
	case rra.Gauge, rra.Absolute:
		return ambiguous && s.Type == Absolute
	}
	return false
}

// reading returns a value as the store takes it. What is no number is unknown.
func reading(v rra.Value) rra.Value {
	if v.Tag == rra.TagFloat {
		if x := math.Float64frombits(v.Bits); math.IsNaN(x) || math.IsInf(x, 0) {
			return rra.Unknown
		}
	}
	return v
}
