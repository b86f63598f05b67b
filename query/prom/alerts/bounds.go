package alerts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/prom/bound"
)

// Limits of templates. A template is a program: it may loop for ever, and a text that is doubled
// twenty times has a million times its length. So all templates of one evaluation of a rule have a
// budget together, and a text that passes it has an error in its place.
const (
	maxText     = 64 << 10         // bytes of one text, and of each value that a function takes
	maxTexts    = 16 << 20         // bytes of all texts of one evaluation of a rule
	maxSteps    = 50_000           // texts, values and rounds of loops in one text
	maxMatching = 16 << 20         // instructions of an expression times bytes of its text
	maxFound    = 10_000           // samples that a query of a template may find
	maxTemplate = 30 * time.Second // for all templates of one evaluation of a rule
)

// A textBudget is what a text has used of the limits.
type textBudget struct {
	ctx          context.Context
	bytes, steps int
}

var (
	errLong = fmt.Errorf("a text has more than %d bytes", maxText)
	errSlow = fmt.Errorf("the templates of the rule take longer than %v", maxTemplate)
)

// count counts a text or a value that is about to be written.
func (b *textBudget) count(v any) error {
	b.bytes += sizeOf(reflect.ValueOf(v), maxText+1)
	b.steps++
	switch {
	case b.bytes > maxText:
		return errLong
	case b.steps > maxSteps:
		return fmt.Errorf("a template takes more than %d steps", maxSteps)
	case b.ctx.Err() != nil:
		return errSlow
	}
	return nil
}

// formatted is printf. A verb writes its width and precision, and some bytes for each byte of an
// argument, at most. It may name any argument.
func formatted(format string, args ...any) (string, error) {
	verbs, widths, number, inside := 0, 0, 0, false
	for _, c := range []byte(format) {
		switch {
		case !inside:
			if inside = c == '%'; inside {
				verbs, number = verbs+1, 0
			}
		case c == '*':
			return "", errors.New("printf takes no width from an argument")
		case '0' <= c && c <= '9':
			was := number
			number = min(10*number+int(c-'0'), maxText+1)
			widths += number - was
		case strings.IndexByte("+-# .[]", c) >= 0:
			number = 0
		default:
			inside = false
		}
	}
	longest := 0
	for _, a := range args {
		longest = max(longest, sizeOf(reflect.ValueOf(a), maxText+1))
	}
	if len(format) > maxText || widths > maxText || longest > maxText || verbs*longest > 4*maxText {
		return "", errLong
	}
	return fmt.Sprintf(format, args...), nil
}

// matching compiles an expression for a text, if neither that nor matching takes long.
func matching(pattern, text string) (*regexp.Regexp, error) {
	var b bound.Budget
	if len(pattern) > maxText || len(text) > maxText {
		return nil, errLong
	}
	if err := b.Regexp(pattern); err != nil {
		return nil, err
	}
	if b.Program()*len(text) > maxMatching {
		return nil, fmt.Errorf("an expression of %d instructions for a text of %d bytes takes too long", b.Program(), len(text))
	}
	return regexp.Compile(pattern)
}

func matched(pattern, text string) (bool, error) {
	re, err := matching(pattern, text)
	return err == nil && re.MatchString(text), err
}

// replaced is reReplaceAll. Each match becomes a text that may name what has matched several times.
func replaced(pattern, with, text string) (string, error) {
	re, err := matching(pattern, text)
	if err != nil {
		return "", err
	}
	if len(with) > maxText || (len(text)+1)*(len(with)+1) > 16*maxText {
		return "", errLong
	}
	return re.ReplaceAllString(text, with), nil
}

// sizeOf returns how long a value is as text, about; most if it is longer.
func sizeOf(v reflect.Value, most int) int {
	n := 0
	switch v.Kind() {
	case reflect.String:
		n = v.Len()
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			n = sizeOf(v.Elem(), most)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && n < most; i++ {
			n += 1 + sizeOf(v.Index(i), most)
		}
	case reflect.Map:
		for it := v.MapRange(); n < most && it.Next(); {
			n += 2 + sizeOf(it.Key(), most) + sizeOf(it.Value(), most)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && n < most; i++ {
			n += 1 + sizeOf(v.Field(i), most)
		}
	default:
		n = 24
	}
	return min(n, most)
}
