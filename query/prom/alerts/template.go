package alerts

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	text_template "text/template"
	nodes "text/template/parse"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/strutil"

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

// An expander fills in the templates of labels and annotations in one evaluation of a rule.
type expander struct {
	query    func(ctx context.Context, expr string, at time.Time) (promql.Vector, error)
	external *url.URL // nil: nowhere
	at       time.Time
	texts    int // bytes of all texts so far
}

// expand returns a text with the values of a sample.
func (e *expander) expand(ctx context.Context, name, text string, s promql.Sample) string {
	out, err := e.try(ctx, "__alert_"+name, text, s)
	if err == nil && e.texts+len(out) > maxTexts {
		err = fmt.Errorf("the texts of the rule have more than %d bytes", maxTexts)
	}
	if err != nil {
		out = "<error expanding template: " + shortened(err.Error()) + ">"
	}
	e.texts += len(out)
	return out
}

// shortened returns the begin and the end of an error, which may repeat the whole template.
func shortened(s string) string {
	const part = 500
	if len(s) <= 2*part {
		return s
	}
	return strings.ToValidUTF8(s[:part]+"…"+s[len(s)-part:], "")
}

func (e *expander) try(ctx context.Context, name, text string, s promql.Sample) (string, error) {
	if e.texts > maxTexts {
		return "", fmt.Errorf("the texts of the rule have more than %d bytes", maxTexts)
	}
	if ctx.Err() != nil {
		return "", errSlow
	}
	const begin = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	b := &textBudget{ctx: ctx}
	data := template.AlertTemplateData(s.Metric.Map(), nil, addressOf(e.external), s)
	query := func(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
		v, err := e.query(ctx, expr, at)
		if err == nil && len(v) > maxFound {
			err = fmt.Errorf("the query finds %d samples, a template may have %d", len(v), maxFound)
		}
		return v, err
	}
	text, err := counted(name, begin+text)
	if err != nil {
		return "", err
	}
	t := template.NewTemplateExpander(ctx, text, name, data, model.Time(timestamp.FromTime(e.at)), query, e.external, nil)
	t.Funcs(b.functions())
	return t.Expand()
}

// countText is the function that counted puts into a template.
const countText = "__count"

// counted returns a template whose every text, value and round of a loop passes through countText.
func counted(name, text string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	t := nodes.New(name)
	t.Mode = nodes.SkipFuncCheck
	set := make(map[string]*nodes.Tree)
	main, err := t.Parse(text, "", "", set)
	if err != nil {
		return "", fmt.Errorf("error parsing template %v: %w", name, err)
	}
	var b strings.Builder
	for defined, tree := range set {
		if tree == main || tree.Root == nil {
			continue
		}
		count(tree.Root)
		fmt.Fprintf(&b, "{{define %q}}{{%s \"\"}}%s{{end}}", defined, countText, tree.Root)
	}
	count(main.Root)
	return b.String() + main.Root.String(), nil
}

// count changes the nodes of a list. A text node may hold any source.
func count(list *nodes.ListNode) {
	if list == nil {
		return
	}
	for i, n := range list.Nodes {
		source := ""
		switch n := n.(type) {
		case *nodes.TextNode:
			source = "{{" + countText + " " + strconv.Quote(string(n.Text)) + "}}"
		case *nodes.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				source = "{{" + n.Pipe.String() + " | " + countText + "}}"
			}
		case *nodes.IfNode:
			count(n.List)
			count(n.ElseList)
		case *nodes.WithNode:
			count(n.List)
			count(n.ElseList)
		case *nodes.RangeNode:
			count(n.List)
			count(n.ElseList)
			round := &nodes.TextNode{NodeType: nodes.NodeText, Text: []byte("{{" + countText + ` ""}}`)}
			n.List.Nodes = append([]nodes.Node{round}, n.List.Nodes...)
		}
		if source != "" {
			list.Nodes[i] = &nodes.TextNode{NodeType: nodes.NodeText, Text: []byte(source)}
		}
	}
}

// A textBudget is what a text has used of the limits.
type textBudget struct {
	ctx          context.Context
	bytes, steps int
}

var (
	errLong = fmt.Errorf("a text has more than %d bytes", maxText)
	errSlow = fmt.Errorf("the templates of the rule take longer than %v", maxTemplate)
)

// count counts a value that is about to be written.
func (b *textBudget) count(v any) (any, error) {
	b.bytes += sizeOf(reflect.ValueOf(v), maxText+1)
	b.steps++
	switch {
	case b.bytes > maxText:
		return nil, errLong
	case b.steps > maxSteps:
		return nil, fmt.Errorf("a template takes more than %d steps", maxSteps)
	case b.ctx.Err() != nil:
		return nil, errSlow
	}
	return v, nil
}

// functions returns functions that count, in place of those whose result may be longer than what
// they take.
func (b *textBudget) functions() text_template.FuncMap {
	texts := func(f func(...any) string) func(...any) (string, error) {
		return func(args ...any) (string, error) {
			if sizeOfAll(args) > maxText {
				return "", errLong
			}
			return f(args...), nil
		}
	}
	one := func(f func(string) string) func(string) (string, error) {
		return func(s string) (string, error) {
			if len(s) > maxText {
				return "", errLong
			}
			return f(s), nil
		}
	}
	return text_template.FuncMap{
		countText: b.count,
		"html":    texts(text_template.HTMLEscaper), "js": texts(text_template.JSEscaper), "urlquery": texts(text_template.URLQueryEscaper),
		"print": texts(fmt.Sprint), "println": texts(fmt.Sprintln), "printf": formatted,
		"toUpper": one(strings.ToUpper), "toLower": one(strings.ToLower), "urlQueryEscape": one(url.QueryEscape),
		"graphLink": one(strutil.GraphLinkForExpression), "tableLink": one(strutil.TableLinkForExpression),
		"reReplaceAll": replaced, "match": matched,
	}
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

func sizeOfAll(args []any) (n int) {
	for _, a := range args {
		n += sizeOf(reflect.ValueOf(a), maxText+1)
	}
	return n
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
