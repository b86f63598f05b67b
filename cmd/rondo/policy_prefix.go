package main

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
)

// misspelt says that the first part of a rule's path looks like that of a protocol and is not;
// empty: it does not. Paths of rrdcached's clients may begin with anything.
func misspelt(path string, protocols []server.Receiver) string {
	first, _, _ := strings.Cut(path, "/")
	if first == "" || strings.ContainsAny(first, "*?") {
		return ""
	}
	similar := ""
	for _, r := range protocols {
		switch prefix := r.Protocol.PathPrefix(); {
		case prefix == first:
			return ""
		case distance(strings.ToLower(first), prefix, 2) <= 2:
			similar = prefix
		}
	}
	if similar == "" {
		return ""
	}
	return fmt.Sprintf("no receiver makes paths that begin with %s/: did you mean %s/?", first, similar)
}
