package influx

import (
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
)

// prefix is the first component of the paths of series.
const prefix = "influx"

// What the tags of a line may have at most.
const (
	MaxTags     = 128
	MaxTagName  = 256  // bytes
	MaxTagValue = 1024 // bytes
)

// A Key is a measurement and its tags, without escapes. The tags are sorted by their names.
type Key struct {
	Measurement string
	Tags        []Tag
}

// A Tag is a tag of a line.
type Tag struct{ Name, Value string }

// ParseKey takes the key of a line apart. The error is a *receivers.Error.
func ParseKey(key []byte) (Key, error) {
	var k Key
	name, rest := cut(key, ',')
	switch {
	case len(name) == 0:
		return k, malformed("missing measurement")
	case len(name) > MaxName:
		return k, tooMuch("measurement is too long")
	}
	k.Measurement = unescape(name)
	for len(rest) > 0 {
		var tag []byte
		tag, rest = cut(rest[1:], ',')
		if len(k.Tags) == MaxTags {
			return k, tooMuch("too many tags")
		}
		name, value := cut(tag, '=')
		switch {
		case len(name) == 0:
			return k, malformed("missing tag key")
		case len(value) < 2:
			return k, malformed("missing tag value")
		case bare(value[1:], '=') >= 0:
			return k, malformed("invalid tag format")
		case len(name) > MaxTagName || len(value) > MaxTagValue+1:
			return k, tooMuch("tag is too long")
		}
		k.Tags = append(k.Tags, Tag{unescape(name), unescape(value[1:])})
	}
	slices.SortFunc(k.Tags, func(a, b Tag) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(k.Tags); i++ {
		if k.Tags[i].Name == k.Tags[i-1].Name {
			return k, malformed("duplicate tags")
		}
	}
	return k, nil
}

func malformed(what string) error { return &receivers.Error{Reason: receivers.Malformed, What: what} }
func tooMuch(what string) error   { return &receivers.Error{Reason: receivers.Limit, What: what} }

// cut returns b up to the first c that has no backslash before it, and the rest with c.
func cut(b []byte, c byte) (before, rest []byte) {
	if i := bare(b, c); i >= 0 {
		return b[:i], b[i:]
	}
	return b, nil
}

// unescape takes the backslashes away that stand before a comma, an equals sign or a space.
func unescape(b []byte) string {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] == '\\' && i+1 < len(b) && (b[i+1] == ',' || b[i+1] == '=' || b[i+1] == ' ') {
			i++
		}
		out = append(out, b[i])
	}
	return string(out)
}

// With adds a tag, unless there is one of its name or the value is empty.
func (k *Key) With(name, value string) {
	i, ok := slices.BinarySearchFunc(k.Tags, name, func(t Tag, name string) int { return strings.Compare(t.Name, name) })
	if !ok && value != "" {
		k.Tags = slices.Insert(k.Tags, i, Tag{name, value})
	}
}

// Identify returns the path of the series of a field, influx/MEASUREMENT/TAG=VALUE,…/FIELD, and its
// labels. Series that differ in measurement, tags or field have different paths.
func Identify(k Key, field string) receivers.Identity {
	p := pathname.New(prefix)
	p.Add(k.Measurement)
	if len(k.Tags) > 0 {
		p.Add(joinTags(k.Tags))
	}
	p.Add(field)
	return receivers.Identity{Path: p.String(), Labels: k.labels(field)}
}

// joinTags returns tags as they stand in a line, with backslashes where characters would make them
// ambiguous.
func joinTags(tags []Tag) string {
	var b strings.Builder
	for i, t := range tags {
		if i > 0 {
			b.WriteByte(',')
		}
		_, _ = escapes.WriteString(&b, t.Name) // to memory
		b.WriteByte('=')
		_, _ = escapes.WriteString(&b, t.Value)
	}
	return b.String()
}

var escapes = strings.NewReplacer(`\`, `\\`, `,`, `\,`, `=`, `\=`)

// labels returns the labels of the series of a field: its tags, and as __name__ MEASUREMENT_FIELD,
// or MEASUREMENT for the field "value". Names become such as Prometheus takes everywhere.
func (k *Key) labels(field string) []core.Label {
	name := k.Measurement + "_" + field
	if field == "value" {
		name = k.Measurement
	}
	ls := make([]core.Label, 0, len(k.Tags)+1)
	ls = append(ls, core.Label{Name: "__name__", Value: cleanName(name, true)})
	for _, t := range k.Tags {
		name := cleanName(t.Name, false)
		if strings.HasPrefix(name, "__") { // reserved
			name = "tag" + name
		}
		value := receivers.LabelValue(t.Value)
		if i := slices.IndexFunc(ls, func(l core.Label) bool { return l.Name == name }); i >= 0 {
			ls[i].Value += ";" + value // as OpenTelemetry's rules for Prometheus say
			continue
		}
		ls = append(ls, core.Label{Name: name, Value: value})
	}
	return ls
}

// cleanName returns s with "_" in place of each character that a name of Prometheus must not have.
// Colons are for names of metrics only.
func cleanName(s string, colon bool) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || colon && r == ':' {
			return r
		}
		return '_'
	}, s)
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
