package smon

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/glob"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/rra"
)

// Identify returns the path of the series of a token at an index, smon/PEER/NAME[/I1/I2…], and its
// labels.
func Identify(peer string, t *Token, index []uint64) receivers.Identity {
	path := []string{peer, t.Name}
	for _, n := range index {
		path = append(path, strconv.FormatUint(n, 10))
	}
	return receivers.Identity{
		Path: pathname.Join("smon", path...),
		Labels: []core.Label{
			{Name: "peer", Value: receivers.Text([]byte(peer))},
			{Name: "token", Value: receivers.Text([]byte(t.Name))},
			{Name: "index", Value: strings.Join(path[2:], "/")},
		},
	}
}

// heartbeat is the heartbeat of a series in seconds. It is two steps if that is longer.
const heartbeat = 120

// define returns the definition of the series of a token.
func define(kind rra.Kind, step int64) *rra.Definition {
	d := receivers.StandardDefinition(step)
	d.Sources[0].Kind, d.Sources[0].Heartbeat = kind, max(heartbeat, 2*step)
	return d
}

// kinds are the kinds of series by patterns of tokens' names. The first pattern that matches
// decides.
type kinds []struct {
	name *regexp.Regexp
	kind rra.Kind
}

// parseKinds parses texts of the form GLOB=KIND.
func parseKinds(texts []string) (kinds, error) {
	k := make(kinds, len(texts))
	for n, s := range texts {
		i := strings.LastIndexByte(s, '=')
		if i < 1 {
			return nil, fmt.Errorf("%q is no GLOB=KIND", s)
		}
		if !utf8.ValidString(s[:i]) {
			return nil, fmt.Errorf("%q is not UTF-8", s)
		}
		kind, err := rra.ParseKind(s[i+1:])
		if err != nil || kind == rra.Compute {
			return nil, fmt.Errorf("%q: want GAUGE, COUNTER, DERIVE, DCOUNTER, DDERIVE or ABSOLUTE", s)
		}
		k[n].name, k[n].kind = glob.Path(s[:i]), kind
	}
	return k, nil
}

// of returns the kind of the series of a new token.
func (k kinds) of(name string) rra.Kind {
	for i := range k {
		if k[i].name.MatchString(name) {
			return k[i].kind
		}
	}
	return rra.Gauge
}
