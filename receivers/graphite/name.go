package graphite

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
)

// A Name is a name as it was sent, taken apart.
type Name struct {
	// Path is the name without its tags: components that are not empty, with dots between them.
	Path string
	// Tags are sorted by their names.
	Tags []core.Label
}

// nameLabel is the label with the name of a series.
const nameLabel = "__name__"

var (
	errTag    = errors.New("a tag is no NAME=VALUE that Graphite allows")
	errNoName = errors.New("a name has no component")
)

// ParseName takes a name apart: components with dots between them, and tags behind it as
// ;NAME=VALUE. As in carbon, empty components do not count, and of tags of one name the last does.
func ParseName(raw []byte) (Name, error) {
	path, tags, tagged := strings.Cut(receivers.Text(raw), ";")
	var n Name
	n.Path = strings.Join(strings.FieldsFunc(path, func(r rune) bool { return r == '.' }), ".")
	if n.Path == "" {
		return n, errNoName
	}
	if !tagged {
		return n, nil
	}
	for tag := range strings.SplitSeq(tags, ";") {
		name, value, _ := strings.Cut(tag, "=")
		if name == "" || value == "" || value[0] == '~' || strings.ContainsAny(name, "!^") || name == nameLabel {
			return n, errTag
		}
		n.Tags = slices.DeleteFunc(n.Tags, func(l core.Label) bool { return l.Name == name })
		n.Tags = append(n.Tags, core.Label{Name: name, Value: value})
	}
	slices.SortFunc(n.Tags, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return n, nil
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

// Identity returns the path of the series, graphite/A/B/C;TAG=VALUE, and its labels: the name of a
// metric made of the path, and the tags. Tags that a path cannot hold as they are add a hash of the
// whole name, so that other tags make another path.
func (n Name) Identity() receivers.Identity {
	path := []byte(prefix)
	components := strings.Split(n.Path, ".")
	last := len(components) - 1
	for _, c := range components[:last] {
		path = append(receivers.AppendComponent(path, c), '/')
	}
	parts := []string{components[last]}
	labels := []core.Label{{Name: nameLabel, Value: MetricName(n.Path)}}
	changed := false
	for _, t := range n.Tags {
		parts = append(parts, ";", t.Name, "=", t.Value)
		label := core.Label{Name: receivers.LabelText(t.Name), Value: receivers.LabelText(t.Value)}
		changed = changed || strings.Contains(t.Name+t.Value, "/") || label != t
		labels = append(labels, label)
	}
	if changed {
		h := fnv.New64a()
		_, _ = h.Write([]byte(n.String())) // a hash takes everything
		parts = append(parts, fmt.Sprintf("~%016x", h.Sum64()))
	}
	return receivers.Identity{Path: string(receivers.AppendComponent(path, parts...)), Labels: labels}
}

// prefix is the beginning of all paths.
const prefix = "graphite/"

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
