package rrdd

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/rra"
)

// A Vocabulary says what the word absolute means, which changed its meaning in 2016.
type Vocabulary uint8

// The vocabularies.
const (
	Auto   Vocabulary = iota // legacy decides for each file
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

// Identify returns the path of the series of a data source of a plugin, and its labels. The path is
// rrdd/PLUGIN/host/NAME, rrdd/PLUGIN/vm/UUID/NAME or rrdd/PLUGIN/sr/UUID/NAME.
func Identify(plugin string, s *Source) receivers.Identity {
	path := []string{plugin, s.Owner.String(), s.Name}
	if s.Owner != Host {
		path = slices.Insert(path, 2, s.UUID)
	}
	labels := []core.Label{
		{Name: "plugin", Value: label(plugin)},
		{Name: "name", Value: label(s.Name)},
		{Name: "owner", Value: s.Owner.String()},
		{Name: "uuid", Value: label(s.UUID)},
		{Name: "units", Value: label(s.Units)},
		{Name: "description", Value: label(s.Description)},
		{Name: "default", Value: strconv.FormatBool(s.Default)},
		{Name: "transform", Value: s.Transform.String()},
	}
	return receivers.Identity{
		Path:   pathname.Join("rrdd", path...),
		Labels: slices.DeleteFunc(labels, func(l core.Label) bool { return l.Value == "" }),
	}
}

// maxLabel is how many bytes of a text become a label. The store takes 4096 bytes with the name.
const maxLabel = 4000

// label returns text as the store takes it: zero bytes become U+FFFD, and the end of a long text is
// cut off.
func label(s string) string {
	return text.Cut(strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD"), maxLabel)
}

// described reports whether s has attributes.
func (s *Source) described() bool { return s.Description != "" || s.Units != "" }

// attributes returns the attributes of the series of s, in order of their names.
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

// The archives of the daemon: rows of 5 s for 10 minutes, of a minute for 2 hours, of an hour for a
// week, and of a day for a year.
const (
	step      = 5
	heartbeat = 300
	xff       = 0.5
)

var spans = [...]struct{ row, rows int64 }{{5, 120}, {60, 120}, {3600, 168}, {86400, 366}}

// Define returns the definition of the series of a data source of kind k, with a step in seconds. A
// step of 0 is the daemon's, 5 seconds. With another step, the archives cover the same times.
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

// fits reports whether a series with the definition d takes readings of s, which are of kind k.
// ambiguous says that the word of the file decides alone between GAUGE and ABSOLUTE: then the kind
// with which the series was made holds.
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

// reading returns a value as the store takes it: NaN and infinities are unknown.
func reading(v rra.Value) rra.Value {
	if v.Tag == rra.TagFloat {
		return receivers.Finite(math.Float64frombits(v.Bits))
	}
	return v
}
