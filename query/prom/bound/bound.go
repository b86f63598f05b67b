// Package bound refuses expressions of PromQL that would cost too much before anything evaluates
// them. Prometheus' parser and what comes behind it take time by the square of the depth of an
// expression, and ask no context; a regular expression of some bytes may compile to many megabytes.
// A Budget counts both by a look at the tokens alone:
//
//	var b bound.Budget
//	if err := b.Expression(text); err != nil {
//		return err
//	}
package bound

import (
	"fmt"
	"regexp/syntax"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/strutil"
)

// The limits of the expressions of one request.
const (
	MaxBytes    = 256 << 10 // of text
	MaxTokens   = 5_000     // words, numbers, texts, operators and brackets
	MaxMatchers = 64        // of one selector
	MaxProgram  = 100_000   // instructions of compiled regular expressions, about 12 MB
	MaxMade     = 1_024     // bytes that a series gets in labels: see made
)

// A Budget is what a request has used of the limits. The zero value is ready for use.
type Budget struct{ bytes, tokens, program int }

// Program returns how many instructions the regular expressions so far will take.
func (b *Budget) Program() int { return b.program }

// Expression takes an expression, or a selector, from the budget. It says nothing of mistakes: the
// parser finds them.
func (b *Budget) Expression(text string) error {
	if b.bytes += len(text); b.bytes > MaxBytes {
		return fmt.Errorf("the expression has %d bytes, at most %d are taken", b.bytes, MaxBytes)
	}
	matchers, inside, makes := 0, false, false
	var op parser.ItemType // the operator before the token
	l := parser.Lex(text)
	for item := (parser.Item{}); ; op = item.Typ {
		switch l.NextItem(&item); item.Typ {
		case parser.EOF, parser.ERROR:
			if b.tokens > MaxTokens {
				return fmt.Errorf("the expression has %d words, numbers and operators, at most %d are taken", b.tokens, MaxTokens)
			}
			if makes {
				return labelsOf(text)
			}
			return nil
		case parser.COMMENT:
			continue
		case parser.COUNT_VALUES:
			makes = true
		case parser.IDENTIFIER:
			makes = makes || item.Val == "label_replace" || item.Val == "label_join"
		case parser.LEFT_BRACE:
			matchers, inside = 0, true
		case parser.RIGHT_BRACE:
			inside = false
		case parser.EQL, parser.NEQ, parser.EQL_REGEX, parser.NEQ_REGEX:
			if inside {
				matchers++
			}
			if err := Matchers(matchers); err != nil {
				return err
			}
		case parser.STRING:
			// The text may also be the argument of a function that takes a regular expression.
			if text, err := strutil.Unquote(item.Val); err == nil && op != parser.EQL && op != parser.NEQ {
				if err := b.Regexp(text); err != nil {
					return err
				}
			}
		}
		b.tokens++
	}
}

// Matchers refuses a selector with too many matchers.
func Matchers(n int) error {
	if n > MaxMatchers {
		return fmt.Errorf("a selector has %d matchers, at most %d are taken", n, MaxMatchers)
	}
	return nil
}

// Regexp takes a regular expression from the budget, without compiling it.
func (b *Budget) Regexp(text string) error {
	tree, err := syntax.Parse(text, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil // it will not be compiled either
	}
	if b.program += size(tree); b.program > MaxProgram {
		return fmt.Errorf("the regular expressions take %d instructions, at most %d are taken", b.program, MaxProgram)
	}
	return nil
}

// size returns how many instructions a regular expression takes, about.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)
	for _, sub := range re.Sub {
		n += size(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}
