package dashboards

import (
	"fmt"
	"strings"

	"github.com/rondo-db/rondo/internal/text"
)

// The limits of a page.
const (
	MaxText   = 128 << 10 // bytes of the text
	MaxGraphs = 64        // graphs
	maxArgs   = 512       // arguments of one graph
	maxTitle  = 200       // bytes of a title
)

// A Page is a page of graphs.
type Page struct {
	Title     string
	Variables []string // labels whose values stand in the graphs for $NAME
	Graphs    []Graph
}

// A Graph is one graph of a page.
type Graph struct {
	Title string
	Args  []string // options and lines of the graph language, as behind the file name of `rondo graph`
	Line  int      // of the text, where the graph begins; the first is 1
}

// A ParseError says what is wrong with a line of a page.
type ParseError struct {
	Line int // the first is 1; 0 means the whole text
	Err  error
}

func (e *ParseError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *ParseError) Unwrap() error { return e.Err }

const (
	titleWord    = "title:"
	variableWord = "variable:"
	graphWord    = "graph:"
	queryWord    = "PROMQL:"
)

// Parse reads the text of a page. The error is a [*ParseError].
func Parse(s string) (*Page, error) {
	if len(s) > MaxText {
		return nil, &ParseError{0, fmt.Errorf("the page has %d bytes, at most %d are possible", len(s), MaxText)}
	}
	p := &Page{}
	n := 0
	for line := range strings.Lines(s) {
		n++
		if err := p.add(n, strings.TrimLeft(strings.TrimRight(line, "\r\n"), " \t")); err != nil {
			return nil, &ParseError{n, err}
		}
	}
	return p, nil
}

// add takes a line. Blanks at its end count, because legends are padded with them.
func (p *Page) add(n int, line string) error {
	if err := text.Printable(strings.ReplaceAll(line, "\t", " ")); err != nil {
		return err
	}
	if strings.TrimSpace(line) == "" || line[0] == '#' {
		return nil
	}
	if title, ok := strings.CutPrefix(line, graphWord); ok {
		if len(p.Graphs) == MaxGraphs {
			return fmt.Errorf("more than %d graphs", MaxGraphs)
		}
		p.Graphs = append(p.Graphs, Graph{Line: n})
		return setTitle(&p.Graphs[len(p.Graphs)-1].Title, title)
	}
	if len(p.Graphs) == 0 {
		if name, ok := strings.CutPrefix(line, variableWord); ok {
			return p.addVariable(name)
		}
		title, ok := strings.CutPrefix(line, titleWord)
		if !ok {
			return fmt.Errorf("%.100q stands before the first graph: want title:, variable:, graph: or a comment that begins with #", line)
		}
		return setTitle(&p.Title, title)
	}
	if err := checkQuery(line); err != nil {
		return err
	}
	g := &p.Graphs[len(p.Graphs)-1]
	if g.Args = append(g.Args, words(line)...); len(g.Args) > maxArgs {
		return fmt.Errorf("a graph of more than %d arguments", maxArgs)
	}
	return nil
}

func setTitle(to *string, title string) error {
	title = strings.TrimSpace(title)
	if len(title) > maxTitle {
		return fmt.Errorf("a title of %d bytes, at most %d are possible", len(title), maxTitle)
	}
	*to = title
	return nil
}

// words returns the arguments that a line stands for: an option and its value, or one line of the
// graph language. Nothing is quoted.
func words(line string) []string {
	if line[0] == '-' {
		if option, value, ok := strings.Cut(line, " "); ok && strings.TrimSpace(value) != "" {
			return []string{option, strings.TrimSpace(value)}
		}
		return []string{strings.TrimSpace(line)}
	}
	return []string{line}
}
