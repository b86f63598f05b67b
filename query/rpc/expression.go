package rpc

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

// The limits of the expressions of a List. A short expression may be a long program: x{1000} is a thousand
// copies of x.
const (
	maxExpression = 4 << 10 // bytes
	maxProgram    = 20_000  // instructions, about 1 MB
)

// compileExpression returns the anchored expression of a matcher. Its size is looked at before it is compiled.
func compileExpression(text string) (*regexp.Regexp, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("an expression of %d bytes: more than %d", len(text), maxExpression)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if programSize(tree) > maxProgram {
		return nil, fmt.Errorf("the expression %.200q repeats too much: it takes more than %d instructions", text, maxProgram)
	}
	return regexp.Compile("^(?s:" + text + ")$")
}

// programSize returns how many instructions re takes, or a number above maxProgram.
func programSize(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		if n += programSize(sub); n > maxProgram {
			return maxProgram + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, maxProgram+1)
}
