package main

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
)

// misspelt says that the first part of a rule's path looks like that of a protocol and is not;
// empty: it does not. Paths of rrdcached's clients may begin with anything. Short words
// like mongo, mon and rrd are plausible names of theirs. So a protocol's name of four letters is
// misspelt only in its capitals.
func misspelt(path string, protocols []server.Receiver) string {
	first, _, _ := strings.Cut(path, "/")
	if first == "" || strings.ContainsAny(first, "*?") {
		return ""
	}
	similar := ""
	for _, r := range protocols {
		prefix := r.Protocol.PathPrefix()
		limit := max(0, len(prefix)-4) / 2
		switch {
		case prefix == first:
			return ""
		case distance(strings.ToLower(first), prefix, limit) <= limit:
			similar = prefix
		}
	}
	if similar == "" {
		return ""
	}
	return fmt.Sprintf("no receiver makes paths that begin with %s/: did you mean %s/?", first, similar)
}
