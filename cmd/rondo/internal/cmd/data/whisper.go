package data

import (
	"errors"
	"path"
	"strings"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/graphite"
)

// whisperExt is how the names of Whisper's files end.
const whisperExt = ".wsp"

var errHashedName = errors.New("its name is a hash of tags, which the file does not hold: carbon has TAG_HASH_FILENAMES")

// identify returns the path and the labels of the series that the receiver of Graphite makes for
// the name that carbon keeps in a file. inside is the file's path from the folder that is imported.
// The series is below prefix; empty: below the receiver's own. Of a prefix graphite/a, a is part of
// the name.
func identify(prefix, inside string) (receivers.Identity, error) {
	top := graphite.Protocol.Name
	if prefix == "" {
		prefix = top
	}
	if rest, ok := strings.CutPrefix(path.Clean(prefix)+"/", top+"/"); ok {
		prefix, inside = top, rest+inside
	}
	name, err := carbonName(strings.TrimSuffix(inside, whisperExt))
	if err != nil {
		return receivers.Identity{}, err
	}
	n, err := graphite.ParseName([]byte(name))
	if err != nil {
		return receivers.Identity{}, err
	}
	return n.Identity(path.Clean(prefix)), nil
}

// carbonName returns the name that carbon keeps in a file, whose path is given without its ending:
// a.b in a/b, a.b;t=1 in _tagged/XXX/XXX/a_DOT_b;t=1. The X are the first digits of a hash.
func carbonName(file string) (string, error) {
	folder, base := path.Split(file)
	switch {
	case strings.Contains(base, ";"):
		return strings.ReplaceAll(base, "_DOT_", "."), nil
	case len(base) == 64 && strings.HasSuffix("/"+folder, "/"+base[:3]+"/"+base[3:6]+"/"):
		return "", errHashedName
	}
	return strings.ReplaceAll(file, "/", "."), nil
}
