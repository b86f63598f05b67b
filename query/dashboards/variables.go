package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/internal/text"
)

const (
	maxVariables = 4    // of a page
	maxValue     = 256  // bytes of the value of a variable
	maxQuery     = 4096 // bytes of a line of PromQL
)

var ( // which bound no length: that takes every program with this package long to compile
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	queryLine    = regexp.MustCompile(`^PROMQL:[A-Za-z0-9_-]+=`)
	element      = regexp.MustCompile(`^[A-Z][A-Z0-9.]*:`)
	inserted     = regexp.MustCompile(`\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))`)
)

// addVariable takes the name of a variable, which is a label whose values a reader chooses from.
func (p *Page) addVariable(name string) error {
	switch name = strings.TrimSpace(name); {
	case len(name) > 64 || !variableName.MatchString(name):
		return fmt.Errorf("a variable %.100q: want the name of a label, as host", name)
	case slices.Contains(p.Variables, name):
		return fmt.Errorf("the variable %s is there twice", name)
	case len(p.Variables) == maxVariables:
		return fmt.Errorf("more than %d variables", maxVariables)
	}
	p.Variables = append(p.Variables, name)
	return nil
}

// checkQuery returns an error if a line of PromQL is not PROMQL:NAME=EXPRESSION.
func checkQuery(line string) error {
	switch {
	case !strings.HasPrefix(line, queryWord):
		return nil
	case !queryLine.MatchString(line), strings.IndexByte(line, '=') > len(queryWord)+255:
		return fmt.Errorf("%.100q: want PROMQL:NAME=EXPRESSION", line)
	case len(line) > maxQuery:
		return fmt.Errorf("a line of PromQL of %d bytes, at most %d are possible", len(line), maxQuery)
	}
	return nil
}

// Queries reports whether PromQL is in the graph. Only the page shows it.
func (g *Graph) Queries() bool {
	return slices.ContainsFunc(g.Args, func(a string) bool { return strings.HasPrefix(a, queryWord) })
}

// Filled returns a graph of the page with the values of variables in place of $NAME and ${NAME}.
// The error says which variable has no value, or one that cannot be.
func (p *Page) Filled(g Graph, values map[string]string) (Graph, error) {
	for _, name := range p.Variables {
		v := values[name]
		if v == "" {
			return g, fmt.Errorf("the variable %s has no value", name)
		}
		if err := text.Printable(v); err != nil || len(v) > maxValue {
			return g, fmt.Errorf("%.100q is no value of the variable %s", v, name)
		}
	}
	fill := func(in string, guard func(string) string) string {
		return inserted.ReplaceAllStringFunc(in, func(found string) string {
			name := strings.Trim(found, "${}")
			if !slices.Contains(p.Variables, name) {
				return found
			}
			return guard(values[name])
		})
	}
	plain := func(v string) string { return v }
	out := Graph{Title: fill(g.Title, plain), Line: g.Line}
	for _, a := range g.Args {
		switch {
		case strings.HasPrefix(a, queryWord):
			a = fill(a, inQuery.Replace)
		case element.MatchString(a):
			a = fill(a, inElement.Replace)
		default:
			a = fill(a, plain)
		}
		out.Args = append(out.Args, a)
	}
	return out, nil
}

// inElement makes a text a part of a line of the graph language, and inQuery one of a string of
// PromQL.
var (
	inElement = strings.NewReplacer(`\`, `\\`, ":", `\:`)
	inQuery   = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
)
