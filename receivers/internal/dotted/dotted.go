// Package dotted makes series of names whose components have dots between them, as senders of
// Graphite and StatsD write them, with tags behind them.
package dotted

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
)

// A Name is a name taken apart.
type Name struct {
	// Path is the name without its tags: components that are not empty, with dots between them.
	Path string
	// Tags are sorted by their names.
	Tags []core.Label
}

// NameLabel is the label with the name of a series.
const NameLabel = "__name__"

// NewName returns the Name of a path without its empty components. If all components are empty, so
// is Name.Path.
func NewName(path string) Name {
	return Name{Path: strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '.' }), ".")}
}

// SetTag adds a tag, in place of one with the same name.
func (n *Name) SetTag(name, value string) {
	i, found := slices.BinarySearchFunc(n.Tags, name, func(l core.Label, name string) int { return strings.Compare(l.Name, name) })
	if found {
		n.Tags[i].Value = value
		return
	}
	n.Tags = slices.Insert(n.Tags, i, core.Label{Name: name, Value: value})
}

// String returns the name as Graphite writes it: PATH;TAG=VALUE, with the tags sorted.
func (n Name) String() string {
	var b strings.Builder
	b.WriteString(n.Path)
	for _, t := range n.Tags {
		fmt.Fprintf(&b, ";%s=%s", t.Name, t.Value)
	}
	return b.String()
}

// Identity returns the path of the series, PREFIX/A/B/C;TAG=VALUE, and its labels: the name of a
// metric made of the path, and the tags. prefix is the beginning of the path. Names that differ
// have paths that differ: see package pathname.
func (n Name) Identity(prefix string) receivers.Identity {
	p := pathname.New(prefix)
	components := strings.Split(n.Path, ".")
	last := len(components) - 1
	for _, c := range components[:last] {
		p.Add(c)
	}
	if strings.Contains(components[last], ";") {
		p.Blur()
	}
	labels := []core.Label{{Name: NameLabel, Value: MetricName(n.Path)}}
	for _, t := range n.Tags {
		p.Mix(t.Name, t.Value)
		if strings.ContainsAny(t.Name, ";=") || strings.Contains(t.Value, ";") {
			p.Blur()
		}
		labels = append(labels, core.Label{Name: receivers.LabelText(t.Name), Value: receivers.LabelValue(t.Value)})
	}
	p.Add(Name{Path: components[last], Tags: n.Tags}.String())
	return receivers.Identity{Path: p.String(), Labels: labels}
}

// MetricName returns a name as Prometheus' graphite_exporter gives it by default: each character
// that the name of a metric cannot have is "_", and a digit at the beginning has "_" before it.
func MetricName(path string) string {
	b := make([]byte, 0, len(path)+1)
	if path != "" && path[0]-'0' <= 9 {
		b = append(b, '_')
	}
	for _, r := range path {
		if r > 0x7f || !bytes.ContainsRune(metricBytes, r) {
			r = '_'
		}
		b = append(b, byte(r))
	}
	return string(b)
}

var metricBytes = []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:")
