package rpn_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/rra/rpn"
)

var update = flag.Bool("update", false, "rewrite the scripts' output")

// TestScripts runs testdata/*.txt; the README there says how to read them.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, commands := runScript(t, string(text))
			if commands == 0 {
				t.Error("nothing was run")
			}
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			g, w := strings.Split(got, "\n"), strings.Split(string(text), "\n")
			for i := range g {
				if i >= len(w) || g[i] != w[i] {
					t.Fatalf("line %d: got %q, want %q", i+1, g[i], strings.Join(w[min(i, len(w)):min(i+1, len(w))], ""))
				}
			}
			if len(w) > len(g) {
				t.Errorf("line %d: got nothing, want %q", len(g)+1, w[len(g)])
			}
		})
	}
}

// A script is its variables.
type script struct {
	names  []string
	values []float64
	series []rpn.Series
}

// runScript returns the script with its output as it is.
func runScript(t *testing.T, text string) (out string, commands int) {
	t.Helper()
	var b strings.Builder
	var s script
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		b.WriteString(line)
		verb, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if verb == "" || verb == "#" {
			continue
		}
		commands++
		result, err := s.do(verb, rest)
		if err != nil {
			result = "error: " + err.Error()
		}
		if result != "" {
			b.WriteString("\t" + result + "\n")
		}
	}
	return b.String(), commands
}

func (s *script) do(verb, rest string) (string, error) {
	switch verb {
	case "clear":
		*s = script{}
		return "", nil
	case "let":
		for f := range strings.FieldsSeq(rest) {
			name, text, _ := strings.Cut(f, "=")
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return "", err
			}
			s.names, s.values = append(s.names, name), append(s.values, v)
		}
		return "", nil
	case "series":
		return "", s.addSeries(rest)
	}
	p, err := rpn.Compile(rest, s.names)
	if err != nil {
		return "", err
	}
	switch verb {
	case "run":
		if err := p.CheckCompute(); err != nil {
			return "", err
		}
		v, err := p.Run(s.values, make([]float64, p.StackSize()))
		return fmt.Sprint(v), err
	case "print":
		return p.String(), nil
	case "eval":
		got, err := p.EvalColumns(s.series, rpn.Options{Now: 1000, Location: time.FixedZone("", 3600)})
		words := []string{fmt.Sprintf("%d %d:", got.Start, got.Step)}
		for _, v := range got.Values {
			words = append(words, fmt.Sprint(v))
		}
		return strings.Join(words, " "), err
	}
	return "", fmt.Errorf("no command %s", verb)
}

func (s *script) addSeries(text string) error {
	head, values, _ := strings.Cut(text, ":")
	var name string
	var series rpn.Series
	if _, err := fmt.Sscan(head, &name, &series.Start, &series.Step); err != nil {
		return err
	}
	for f := range strings.FieldsSeq(values) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return err
		}
		series.Values = append(series.Values, v)
	}
	s.names, s.series, s.values = append(s.names, name), append(s.series, series), append(s.values, math.NaN())
	return nil
}

// TestNoAllocation checks that a row costs no memory.
func TestNoAllocation(t *testing.T) {
	for _, expr := range []string{"a,8,*", "a,b,2,COPY,3,SORT,3,AVG,+,a,b,2,MEDIAN,+", "a,b,90,2,PERCENT", "a,0,GT,a,UNKN,IF"} {
		p, err := rpn.Compile(expr, []string{"a", "b"})
		if err != nil {
			t.Fatal(err)
		}
		vars, stack := []float64{1, 2}, make([]float64, p.StackSize())
		if n := testing.AllocsPerRun(100, func() { _, _ = p.Run(vars, stack) }); n != 0 {
			t.Errorf("%s: %v allocations", expr, n)
		}
	}
}

// TestBounded checks that small expressions over few rows cannot take much.
func TestBounded(t *testing.T) {
	series := []rpn.Series{{Start: 0, Step: 1, Values: make([]float64, 10000)}}
	for _, test := range []struct{ expr, want string }{
		{"a" + strings.Repeat(",DEPTH,COPY", 20), "RPN stack has more than 65536 elements"},
		{"a,5000,TREND", "expression takes too long for so many rows"},
		{"1,-1e5,1e5,a,PREDICT", "expression takes too long for so many rows"},
		{strings.Repeat("a,POP,", 2000) + "a", "expression takes too long for so many rows"},
		{"0,-4000000,1,5,a,PREDICTPERC", "expression takes too long for so many rows"},
		{"1,-1e30,1,a,PREDICT", "malformed predict arguments"},
		{strings.Repeat("a,POP,", rpn.MaxNodes/2) + "a", fmt.Sprintf("expression has more than %d nodes", rpn.MaxNodes)},
	} {
		p, err := rpn.Compile(test.expr, []string{"a"})
		if err == nil {
			_, err = p.EvalColumns(series, rpn.Options{Work: 1 << 18})
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("%.40s: got %v, want %s", test.expr, err, test.want)
		}
	}
}

// FuzzProgram checks that no expression does harm, and that String gives the
// same program again.
func FuzzProgram(f *testing.F) {
	for _, s := range []string{
		"a,b,+", "a,1,+,", ",", "a,,b", "PREV(a)", "PREV(", "1,2,3,4,4,2,ROLL,+,+,+", "a,9e99,COPY", "a,UNKN,INDEX", "a,-1,SORT", "a,-1,MEDIAN", "a,0,PERCENT",
		"a,DEPTH,COPY,DEPTH,COPY,DEPTH,COPY,DEPTH,COPY,DEPTH,COPY,DEPTH,COPY,DEPTH,AVG", // doubles the stack
		"a,30,TREND", "a,1e300,TREND", "1,-1e6,1e9,a,PREDICT", "10,1e30,10,a,PREDICT", "0,-4000000,1,a,PREDICTPERC", "1,1,INF,50,b,PREDICTPERC",
		"a,b,1,2,3,0,2,-7,ROLL", "a,PREV,1e308,*,+", "a,POP,NEWWEEK", "INF,1,UNKN,NEGINF,4,SORT,3,REV,2,STDEV,+",
	} {
		f.Add(s)
	}
	names := []string{"a", "b"}
	f.Fuzz(func(t *testing.T, expr string) {
		p, err := rpn.Compile(expr, names)
		if err != nil {
			return
		}
		stack := make([]float64, p.StackSize())
		vars := []float64{1.5, math.NaN()}
		got, runErr := p.Run(vars, stack)
		again, err := rpn.Compile(p.String()+",", names)
		if err != nil {
			t.Fatalf("%q: printed %q: %v", expr, p, err)
		}
		if v, err := again.Run(vars, stack); !same(v, got) || (err == nil) != (runErr == nil) {
			t.Errorf("%q: got %v, %v; printed %q: %v, %v", expr, got, runErr, p, v, err)
		}
		series := []rpn.Series{{Start: 0, Step: 10, Values: []float64{1, 2, 3, math.NaN(), 5}}, {Start: -7, Step: 15, Values: []float64{1, math.Inf(1), -3}}}
		out, err := p.EvalColumns(series, rpn.Options{})
		if err == nil && len(out.Values) > 60 {
			t.Errorf("%q: %d rows", expr, len(out.Values))
		}
	})
}
