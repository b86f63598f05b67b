package statsd

import (
	"errors"
	"strings"

	"github.com/rondo-db/rondo/receivers/internal/dotted"
)

// prefix is the first component of the paths of series.
const prefix = "statsd"

var (
	errNoName = errors.New("a name has no component")
	errTag    = errors.New("a tag is called __name__, or has no name")
)

// ParseName takes a name apart: components with dots between them, and tags. Tags stand in the
// name, as NAME,TAG=VALUE (InfluxDB), NAME[TAG=VALUE] (SignalFx) or NAME#TAG=VALUE (Librato), or
// behind the value, as TAG:VALUE (DogStatsD). What only looks like tags belongs to the name.
func ParseName(name, tags []byte) (dotted.Name, error) {
	path, inside := inName(string(name))
	n := dotted.NewName(path)
	if n.Path == "" {
		return n, errNoName
	}
	for _, p := range inside {
		n.SetTag(p[0], p[1])
	}
	if len(tags) > 0 {
		for tag := range strings.SplitSeq(string(tags), ",") {
			name, value, _ := strings.Cut(tag, ":")
			if name == "" && value == "" {
				continue
			}
			if value == "" {
				value = "true" // a tag without a value
			}
			n.SetTag(name, value)
		}
	}
	for _, t := range n.Tags {
		if t.Name == "" || t.Name == dotted.NameLabel {
			return n, errTag
		}
	}
	return n, nil
}

// inName returns a name without the tags that stand in it, and these tags.
func inName(name string) (path string, tags [][2]string) {
	for _, open := range [...]string{"[", "#", ","} {
		before, list, ok := strings.Cut(name, open)
		after := ""
		if ok && open == "[" {
			list, after, ok = strings.Cut(list, "]")
		}
		if !ok {
			continue
		}
		if tags := pairsOf(list); tags != nil {
			return before + after, tags
		}
	}
	return name, nil
}

// pairsOf reads TAG=VALUE,TAG=VALUE; nil: it is something else.
func pairsOf(list string) (pairs [][2]string) {
	for tag := range strings.SplitSeq(list, ",") {
		name, value, ok := strings.Cut(tag, "=")
		if !ok || name == "" || value == "" {
			return nil
		}
		pairs = append(pairs, [2]string{name, value})
	}
	return pairs
}
