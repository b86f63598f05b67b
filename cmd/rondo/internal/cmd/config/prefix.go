package config

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
)

// misspelt returns a warning if the first part of a rule's path resembles the prefix of a protocol
// without being one, and otherwise "". Paths of rrdcached's clients may begin with anything, and
// short words like mongo, mon and rrd are plausible there. So a prefix of four letters counts as
// misspelt only if nothing but its capitals are wrong.
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
		case cli.Distance(strings.ToLower(first), prefix, limit) <= limit:
			similar = prefix
		}
	}
	if similar == "" {
		return ""
	}
	return fmt.Sprintf("no receiver makes paths that begin with %s/: did you mean %s/?", first, similar)
}
