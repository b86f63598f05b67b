package core

import (
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
)

// The limits of the expression of a Matcher. A short expression may be a long program: x{1000} is a
// thousand copies of x.
const (
	// MaxExpression is the longest expression, in bytes.
	MaxExpression = 4 << 10
	// MaxProgram is the largest size of a compiled expression, in instructions, about 1 MB.
	MaxProgram = 20_000
)

// NewMatcher returns a matcher of the label name. It compares the label with value. For MatchRegexp
// and MatchNotRegexp, value is an expression for the whole label. The error wraps ErrInvalid if op
// does not exist, or if the expression does not parse or is too large.
func NewMatcher(op MatchOp, name, value string) (Matcher, error) {
	m := Matcher{Name: name, Op: op, Value: value}
	if op == MatchRegexp || op == MatchNotRegexp {
		if err := m.compile(); err != nil {
			return Matcher{}, err
		}
	}
	return m, m.check()
}

// Below returns a matcher of the series whose path is that of one of the folders, or below one. A
// trailing .rrd of a path does not count. Without folders no series matches.
func Below(folders ...string) Matcher {
	m := Matcher{Op: MatchBelow, Folders: make([]string, len(folders))}
	for i, f := range folders {
		m.Folders[i] = nameKey(path.Clean(strings.Trim(f, "/")))
	}
	return m
}

// check refuses a matcher that neither NewMatcher nor Below returns.
func (m *Matcher) check() error {
	switch {
	case m.Op < MatchEqual || m.Op > MatchBelow:
		return invalid("matcher of label %q: no comparison has the number %d", m.Name, m.Op)
	case m.Op == MatchBelow && m.Folders == nil:
		return invalid("matcher of paths: its Folders are nil (Below sets them)")
	case (m.Op == MatchRegexp || m.Op == MatchNotRegexp) && m.Regexp == nil:
		return invalid("matcher of label %q: its Regexp is nil (NewMatcher sets it)", m.Name)
	}
	return nil
}

// compile checks the size of the expression of m and compiles it.
func (m *Matcher) compile() error {
	if len(m.Value) > MaxExpression {
		return invalid("an expression of %d bytes: more than %d", len(m.Value), MaxExpression)
	}
	tree, err := syntax.Parse(m.Value, syntax.Perl)
	if err != nil {
		return asInvalid(fmt.Errorf("matcher of label %.40q: %w", m.Name, err))
	}
	if programSize(tree) > MaxProgram {
		return invalid("the expression %.200q repeats too much: it takes more than %d instructions", m.Value, MaxProgram)
	}
	m.Regexp, err = regexp.Compile("^(?s:" + m.Value + ")$")
	return asInvalid(err)
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
