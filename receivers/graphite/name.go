package graphite

import (
	"errors"
	"strings"

	"github.com/rondo-db/rondo/receivers/internal/dotted"
)

// prefix is the first component of the paths of series.
const prefix = "graphite"

var (
	errTag    = errors.New("a tag is no NAME=VALUE that Graphite allows")
	errNoName = errors.New("a name has no component")
)

// ParseName takes a name apart: components with dots between them, and tags behind it as
// ;NAME=VALUE. As in carbon, empty components do not count, and of tags of one name the last does.
func ParseName(raw []byte) (dotted.Name, error) {
	path, tags, tagged := strings.Cut(string(raw), ";")
	n := dotted.NewName(path)
	if n.Path == "" {
		return n, errNoName
	}
	if !tagged {
		return n, nil
	}
	for tag := range strings.SplitSeq(tags, ";") {
		name, value, _ := strings.Cut(tag, "=")
		if name == "" || value == "" || value[0] == '~' || strings.ContainsAny(name, "!^") || name == dotted.NameLabel {
			return n, errTag
		}
		n.SetTag(name, value)
	}
	return n, nil
}
