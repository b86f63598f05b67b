package bound_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/prom/bound"
)

func TestExpressionsThatCostTooMuch(t *testing.T) {
	regexps := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `{host=~"(.*a){90}(.*b){90}(.{1,90}){10}%d"} or `, i)
		}
		return b.String() + "a"
	}
	for _, tt := range []struct{ name, text, want string }{
		{"a sum", "1" + strings.Repeat("+1", 500_000), "1000001 bytes, at most 262144"},
		{"a shorter sum", "1" + strings.Repeat("+1", 10_000), "20001 words, numbers and operators, at most 5000"},
		{"brackets", strings.Repeat("(", 60_000) + "1" + strings.Repeat(")", 60_000), "120001 words"},
		{"open brackets", strings.Repeat("(", 60_000), "60000 words"},
		{"signs", strings.Repeat("-", 60_000) + "1", "60001 words"},
		{"functions", strings.Repeat("abs(", 2_000) + "a" + strings.Repeat(")", 2_000), "6001 words"},
		{"matchers", "{" + strings.Repeat(`a="b",`, 65) + "}", "65 matchers, at most 64"},
		{"regular expressions", regexps(200), "instructions, at most 100000"},
		{"one that repeats", `a{b=~"(abcdefghijklmnopqrstuvwxyz){1000}(abcdefghijklmnopqrstuvwxyz){1000}(abcdefghijklmnopqrstuvwxyz){1000}(abcdefghijklmnopqrstuvwxyz){1000}"}`, "instructions"},
		{"one in escapes", `a{b=~"` + strings.Repeat(`\x28abcdefghijklmnopqrstuvwxyz\x29{1000}`, 4) + `"}`, "instructions"},
		{"of a function", `label_replace(a, "b", "$1", "c", "` + strings.Repeat("(abcdefghijklmnopqrstuvwxyz){1000}", 4) + `")`, "instructions"},
		{"labels that double", nested(9, `label_replace(`, `, "a", "$1$1", "a", "(.*)")`), "labels, at most 1024"},
		{"labels that double, with nothing between", nested(9, `label_replace(label_replace(`, `, "a", "$1$1", "a", "(.*)"), "a", "", "a", "none")`), "labels, at most 1024"},
		{"labels of two names", nested(9, `label_replace(`, `, "a", "${1}$n", "a", "(?P<n>.*)")`), "labels, at most 1024"},
		{"groups in groups", nested(9, `label_replace(`, `, "a", "$1$2", "a", "((.*))")`), "labels, at most 1024"},
		{"labels that are joined", nested(9, `label_join(`, `, "a", "", "a", ("a"))`), "labels, at most 1024"},
		{"many labels", `sum by (a) (1 + label_join(label_join(label_join(m, "x", ""` + strings.Repeat(`, "b"`, 25) + `), "y", ""` + strings.Repeat(`, "b"`, 25) + `), "z", ""` + strings.Repeat(`, "b"`, 25) + `))`, "labels, at most 1024"},
		{"a long text", `label_replace(a, "b", "` + strings.Repeat("x", 2000) + `", "", "")`, "labels, at most 1024"},
		{"a long separator", `label_join(a, "b", "` + strings.Repeat("x", 600) + `", "c", "d")`, "labels, at most 1024"},
		{"a long name", `count_values("` + strings.Repeat("x", 2000) + `", a)`, "labels, at most 1024"},
	} {
		var b bound.Budget
		if err := b.Expression(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func nested(n int, before, behind string) string {
	return strings.Repeat(before, n) + "m" + strings.Repeat(behind, n)
}

// TestExpressionsThatPeopleWrite: a dashboard puts some thousand hosts into an expression.
func TestExpressionsThatPeopleWrite(t *testing.T) {
	hosts := make([]string, 3000)
	for i := range hosts {
		hosts[i] = fmt.Sprintf("host%04d.example.com:9100", i)
	}
	for _, text := range []string{
		`sum by (host) (rate(m{host=~"` + strings.Join(hosts, "|") + `"}[5m]))`,
		"a" + strings.Repeat(` or a{b="c"}`, 600),
		"{" + strings.Repeat(`a="b",`, 64) + "}",
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200),
		`a{b="` + strings.Repeat("(x){1000}", 1000) + `"}`, // no regular expression
		strings.Repeat("# a remark + 1 + 1\n", 5000) + "1",
		nested(20, `label_replace(`, `, "instance", "$1.$2", "instance", "(.*):([0-9]+)")`),
		`label_join(m, "all", ", "` + strings.Repeat(`, "another"`, 30) + `) * on (all) count_values("version", b)`,
		`label_replace(m, "x", "$1$1 $1", "", "a(b)")` + strings.Repeat(` or label_join(m, "x", "-", "x", "y")`, 100),
	} {
		var b bound.Budget
		if err := b.Expression(text); err != nil {
			t.Errorf("%.60s…: %v", text, err)
		}
		if _, err := parser.ParseExpr(text); err != nil {
			t.Errorf("%.60s…: %v", text, err)
		}
	}
}

// TestBudgetIsOfARequest: several expressions have one budget.
func TestBudgetIsOfARequest(t *testing.T) {
	var b bound.Budget
	n := 0
	for b.Expression(`{host=~"(abcdefghij){900}"}`) == nil {
		n++
	}
	if n != 8 {
		t.Errorf("%d expressions of some 11,000 instructions are taken, want 8", n)
	}
	if err := b.Expression("{a~"); err != nil && b.Program() <= bound.MaxProgram {
		t.Error(err)
	}
}

func FuzzExpression(f *testing.F) {
	for _, text := range []string{`a{b=~"c"}`, "1+1", "(", `{"a b", c!~'d'}`, "a[5m:1m] offset 3s", "\xff", "#"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b bound.Budget
		if err := b.Expression(text); err != nil && len(text) < bound.MaxTokens/10 && b.Program() <= bound.MaxProgram && strings.Count(text, "=")+strings.Count(text, "!") <= bound.MaxMatchers && !strings.Contains(text, "label_") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
