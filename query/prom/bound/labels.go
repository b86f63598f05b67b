package bound

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// labelBytes is how long a stored label counts as, beside the texts of the expression.
const labelBytes = 16

// made is what an expression puts into the labels of each series. A text counts as long as it is,
// for nobody knows here how many series get it; a label that is stored as labelBytes.
type made struct {
	long map[string]int // labels with a length of their own
	most int            // of all of them together, with their names, at any time
}

// labelsOf refuses an expression that makes too long labels. It has no error for one that the
// parser refuses.
func labelsOf(text string) error {
	expr, err := parser.ParseExpr(text)
	if err != nil {
		return nil
	}
	if n := madeBy(expr).most; n > MaxMade {
		return fmt.Errorf("the expression gives each series some %d bytes of labels, at most %d are taken", n, MaxMade)
	}
	return nil
}

func madeBy(n parser.Node) (m made) {
	m.long = make(map[string]int)
	for child := range parser.ChildrenIter(n) {
		c := madeBy(child)
		for name, n := range c.long {
			m.long[name] = max(m.long[name], n)
		}
		m.most = max(m.most, c.most)
	}
	switch n := n.(type) {
	case *parser.AggregateExpr:
		if n.Op == parser.COUNT_VALUES {
			m.put(textOf(n.Param), labelBytes)
		}
	case *parser.Call:
		switch n.Func.Name {
		case "label_replace":
			name, template := textOf(n.Args[1]), textOf(n.Args[2])
			length := len(template) + copies(template, textOf(n.Args[4]))*m.of(textOf(n.Args[3]))
			m.put(name, max(length, m.of(name))) // the expression may match nothing
		case "label_join":
			length := 0
			for _, source := range n.Args[3:] {
				length += len(textOf(n.Args[2])) + m.of(textOf(source))
			}
			m.put(textOf(n.Args[1]), length)
		}
	}
	return m
}

// of returns how long a label is at most.
func (m *made) of(name string) int {
	if n, ok := m.long[name]; ok {
		return n
	}
	return labelBytes
}

// put makes a label.
func (m *made) put(name string, length int) {
	m.long[name] = min(max(length, labelBytes), 2*MaxMade) // no overflow
	all := 0
	for name, n := range m.long {
		all += len(name) + n
	}
	m.most = max(m.most, all)
}

var reference = regexp.MustCompile(`\$(\w+|\{\w+\})`)

// copies returns how many times a template has each byte of what an expression matches, at most:
// groups that lie in each other have the same bytes.
func copies(template, expression string) int {
	count, most := make(map[string]int), 0
	for _, r := range reference.FindAllString(template, -1) {
		r = strings.Trim(r, "${}")
		count[r]++
		most = max(most, count[r])
	}
	tree, err := syntax.Parse(expression, syntax.Perl|syntax.DotNL)
	if err != nil {
		return most
	}
	around := nested(tree)
	if count["0"] > 0 {
		around++
	}
	return most * min(len(count), around)
}

// nested returns how deep groups lie in each other.
func nested(re *syntax.Regexp) (depth int) {
	for _, sub := range re.Sub {
		depth = max(depth, nested(sub))
	}
	if re.Op == syntax.OpCapture {
		depth++
		if re.Name != "" {
			depth++ // it has two names
		}
	}
	return depth
}

func textOf(e parser.Expr) string {
	for {
		switch x := e.(type) {
		case *parser.ParenExpr:
			e = x.Expr
		case *parser.StringLiteral:
			return x.Val
		default:
			return ""
		}
	}
}
