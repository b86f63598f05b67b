// Package match compares labels and paths of series with what a query asks for.
//
// A Matcher is one comparison. A Term is the same as the label index answers it: the analysis of
// regular expressions finds their values, or how these begin and end.
package match

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Label is a name and a value. A series has at most one label of each name.
type Label struct{ Name, Value string }

// MaxLabel is the longest label, name and value together, in bytes.
const MaxLabel = 4096

// An Op is how a Matcher compares.
type Op int

// The comparisons, as in Prometheus' selectors.
const (
	Equal Op = iota
	NotEqual
	Regexp
	NotRegexp
	Below // compares the path of a series
)

// A Matcher selects series by one label, or by their paths. A label that a series lacks is the
// empty string.
type Matcher struct {
	Name    string
	Op      Op
	Value   string
	Regexp  *regexp.Regexp // of Regexp and NotRegexp; anchored; New sets it
	Folders []string       // of Below: look-up keys
}

// The limits of the expression of a Matcher. A short expression may be a long program: x{1000} is a
// thousand copies of x.
const (
	// MaxExpression is the longest expression, in bytes.
	MaxExpression = 4 << 10
	// MaxProgram is the largest size of a compiled expression, in instructions, about 1 MB.
	MaxProgram = 20_000
)

// New returns a matcher of the label name. It compares the label with value. For Regexp and
// NotRegexp, value is an expression for the whole label. The error says that op does not exist, or
// that the expression does not parse or is too large.
func New(op Op, name, value string) (Matcher, error) {
	m := Matcher{Name: name, Op: op, Value: value}
	if op == Regexp || op == NotRegexp {
		if err := m.compile(); err != nil {
			return Matcher{}, err
		}
	}
	return m, m.Check()
}

// Check refuses a matcher whose parts do not go together.
func (m *Matcher) Check() error {
	switch {
	case m.Op < Equal || m.Op > Below:
		return fmt.Errorf("matcher of label %q: no comparison has the number %d", m.Name, m.Op)
	case m.Op == Below && m.Folders == nil:
		return errors.New("matcher of paths: its Folders are nil (Below sets them)")
	case (m.Op == Regexp || m.Op == NotRegexp) && m.Regexp == nil:
		return fmt.Errorf("matcher of label %q: its Regexp is nil (NewMatcher sets it)", m.Name)
	}
	return nil
}

// All reports whether a series with this look-up key and these labels satisfies all of ms.
func All(ms []Matcher, key string, labels []Label) bool {
	for i := range ms {
		if ms[i].Op == Below {
			if !ms[i].reaches(key) {
				return false
			}
		} else if !ms[i].matches(labels) {
			return false
		}
	}
	return true
}

// matches reports whether a series with these labels satisfies m, which is not about paths.
func (m *Matcher) matches(labels []Label) bool {
	value := ""
	for i := range labels {
		if labels[i].Name == m.Name {
			value = labels[i].Value
		}
	}
	switch m.Op {
	case Equal:
		return value == m.Value
	case NotEqual:
		return value != m.Value
	case Regexp:
		return m.Regexp.MatchString(value)
	}
	return !m.Regexp.MatchString(value)
}

// reaches reports whether a look-up key is one of the folders of m, or below one.
func (m *Matcher) reaches(key string) bool {
	for _, f := range m.Folders {
		if rest, ok := strings.CutPrefix(key, f); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// compile checks the size of the expression of m and compiles it.
func (m *Matcher) compile() error {
	if len(m.Value) > MaxExpression {
		return fmt.Errorf("an expression of %d bytes: more than %d", len(m.Value), MaxExpression)
	}
	tree, err := syntax.Parse(m.Value, syntax.Perl)
	if err != nil {
		return fmt.Errorf("matcher of label %.40q: %w", m.Name, err)
	}
	if programSize(tree) > MaxProgram {
		return fmt.Errorf("the expression %.200q repeats too much: it takes more than %d instructions", m.Value, MaxProgram)
	}
	m.Regexp, err = regexp.Compile("^(?s:" + m.Value + ")$")
	return err
}

// programSize returns how many instructions re takes, or a number above MaxProgram.
func programSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if n += programSize(sub); n > MaxProgram {
			return MaxProgram + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, MaxProgram+1)
}

// A Term is a matcher as the label index answers it: the series that carry, or do not carry, one of
// some values. A missing label is the empty string, which the index does not have. So a matcher
// that the empty string fulfils becomes a term that excludes series.
type Term struct {
	Name    string
	Exclude bool
	All     bool                // every value that is not empty
	Values  []string            // these values
	Takes   func(v string) bool // if neither: values that begin with Prefix and that Takes accepts
	Prefix  string
	Below   []string // if not nil: the series at and below these folders, whatever their labels
}

// Terms returns ms as terms, without matchers that every series fulfils. The error says which of ms
// neither New nor a caller of Below can have made.
func Terms(ms []Matcher) (terms []Term, err error) {
	for i := range ms {
		if err := ms[i].Check(); err != nil {
			return nil, err
		}
		if t, any := ms[i].termOf(); !any {
			terms = append(terms, t)
		}
	}
	return terms, nil
}

// termOf returns m as a term; any is true if every series matches.
func (m *Matcher) termOf() (t Term, any bool) {
	t.Name = m.Name
	switch m.Op {
	case Below:
		t.Below = m.Folders
		return t, false
	case Equal, NotEqual:
		t.Exclude = m.Op == NotEqual
		if m.Value != "" {
			t.Values = []string{m.Value}
		} else { // the label is missing; or is there
			t.Exclude, t.All = !t.Exclude, true
		}
		return t, false
	}
	x := analyse(m.Regexp)
	matches := m.Regexp.MatchString
	if x.suffix != "" {
		matches = func(v string) bool { return strings.HasSuffix(v, x.suffix) && m.Regexp.MatchString(v) }
	}
	if !matches("") {
		t.Exclude = m.Op == NotRegexp
		t.Values, t.All, t.Prefix, t.Takes = x.values, x.some, x.prefix, matches
		return t, false
	}
	// The values that do not match decide: nothing is known of how they begin.
	t.Exclude = m.Op == Regexp
	switch {
	case x.any:
		t.Values = []string{}
		return t, t.Exclude
	case len(x.values) == 1 && x.values[0] == "":
		t.All = true
	default:
		t.Takes = func(v string) bool { return !matches(v) }
	}
	return t, false
}

// One returns the only label that carries the series of t.
func (t *Term) One() (Label, bool) {
	switch {
	case t.All:
		return Label{Name: t.Name}, true
	case len(t.Values) == 1:
		return Label{t.Name, t.Values[0]}, true
	}
	return Label{}, false
}

// An expression is what is known of the texts that a regular expression matches.
type expression struct {
	values []string // all of them; nil: there may be others
	prefix string   // how all of them begin
	suffix string   // how all of them end
	any    bool     // it matches every text
	some   bool     // it matches every text but the empty one
}

// maxReduced is the longest text that an expression is reduced to: no label has a longer value. All
// texts of an expression together may have sixteen times as many bytes.
const maxReduced = MaxLabel

// maxValues is how many values an expression is reduced to. An expression that matches more is
// compared with the values in use.
const maxValues = 256

// analyse returns what is known of an expression.
func analyse(re *regexp.Regexp) (x expression) {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return x
	}
	parts := flat(tree.Simplify(), nil)
	n := len(parts)
	if n < 2 || parts[0].Op != syntax.OpBeginText || parts[n-1].Op != syntax.OpEndText {
		return x
	}
	for n > 0 && parts[0].Op == syntax.OpBeginText {
		parts, n = parts[1:], n-1
	}
	for n > 0 && parts[n-1].Op == syntax.OpEndText {
		parts, n = parts[:n-1], n-1
	}
	if n > 0 {
		x.suffix = suffixOf(parts[n-1])
	}
	if n == 1 && len(parts[0].Sub) == 1 && parts[0].Sub[0].Op == syntax.OpAnyChar {
		x.any, x.some = parts[0].Op == syntax.OpStar, parts[0].Op == syntax.OpPlus
	}
	var b strings.Builder
	texts := []string{""}
	same := true // all texts of the parts so far are one
	for _, p := range parts {
		more := textsOf(p)
		if texts = joined(texts, more); texts == nil {
			break
		}
		if same = same && len(more) == 1; same {
			b.WriteString(more[0])
		}
	}
	if texts != nil {
		slices.Sort(texts)
		x.values = slices.Compact(texts)
	}
	x.prefix = b.String()
	return x
}

// flat appends the expressions that re is a sequence of.
func flat(re *syntax.Regexp, out []*syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			out = flat(sub, out)
		}
		return out
	case syntax.OpCapture:
		return flat(re.Sub[0], out)
	}
	return append(out, re)
}

// textsOf returns all texts that re matches, or nil if they may be more than maxValues. U+FFFD also
// matches bytes that are no UTF-8.
func textsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 && !slices.Contains(re.Rune, utf8.RuneError) {
			return []string{string(re.Rune)}
		}
	case syntax.OpCharClass:
		return runesOf(re.Rune)
	case syntax.OpCapture:
		return textsOf(re.Sub[0])
	case syntax.OpQuest:
		if texts := textsOf(re.Sub[0]); texts != nil {
			return append([]string{""}, texts...)
		}
	case syntax.OpConcat:
		texts := []string{""}
		for i := 0; i < len(re.Sub) && texts != nil; i++ {
			texts = joined(texts, textsOf(re.Sub[i]))
		}
		return texts
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			texts := textsOf(sub)
			if texts == nil || len(all)+len(texts) > maxValues {
				return nil
			}
			all = append(all, texts...)
		}
		return all
	}
	return nil
}

// runesOf returns the runes of a class, given by their ranges.
func runesOf(ranges []rune) []string {
	var texts []string
	for i := 0; i+1 < len(ranges); i += 2 {
		if int(ranges[i+1]-ranges[i])+len(texts) >= maxValues || ranges[i] <= utf8.RuneError && utf8.RuneError <= ranges[i+1] {
			return nil
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			texts = append(texts, string(r))
		}
	}
	return texts
}

// joined returns each text of a with each of b behind it; nil if one of them is nil, or if they
// would be too many or too long.
func joined(a, b []string) []string {
	if a == nil || b == nil || len(a)*len(b) > maxValues {
		return nil
	}
	out, size := make([]string, 0, len(a)*len(b)), 0
	for _, x := range a {
		for _, y := range b {
			if size += len(x) + len(y); len(x)+len(y) > maxReduced || size > 16*maxReduced {
				return nil
			}
			out = append(out, x+y)
		}
	}
	return out
}

// suffixOf returns how every text ends that re matches, if re is a text itself.
func suffixOf(re *syntax.Regexp) string {
	if texts := textsOf(re); len(texts) == 1 {
		return texts[0]
	}
	return ""
}
