package graphite

import (
	"fmt"
	"strings"
)

// A section is one section of a configuration file of carbon.
type section struct {
	name   string
	line   int
	values map[string]string // by key in small letters
}

// parseSections reads a file as Python's ConfigParser does: [SECTION], KEY = VALUE or KEY: VALUE,
// lines that begin with a space go on with the value before, and lines that begin with # or ; are
// comments.
func parseSections(text string) ([]section, error) {
	var all []section
	key := ""
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';':
		case trimmed[0] == '[' && strings.HasSuffix(trimmed, "]") && trimmed == line:
			all = append(all, section{line[1 : len(line)-1], i + 1, make(map[string]string)})
			key = ""
		case len(all) == 0:
			return nil, fmt.Errorf("line %d: no [SECTION] stands above %q", i+1, trimmed)
		case trimmed != line && key != "":
			all[len(all)-1].values[key] += "\n" + trimmed
		default:
			at := strings.IndexAny(trimmed, "=:")
			if at < 1 {
				return nil, fmt.Errorf("line %d: %q is no KEY = VALUE", i+1, trimmed)
			}
			key = strings.ToLower(strings.TrimSpace(trimmed[:at]))
			all[len(all)-1].values[key] = strings.TrimSpace(trimmed[at+1:])
		}
	}
	return all, nil
}
