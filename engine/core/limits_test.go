package core_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// What a definition may ask for was not limited where a series is made: one CREATE with 2 billion
// rows was taken.
func TestRowsOfANewSeriesAreLimited(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	s := enginetest.OpenDir(t, dir, core.Options{})
	def := func(rows int) *rra.Definition {
		return definition(t, "DS:a:GAUGE:20:U:U", fmt.Sprintf("RRA:AVERAGE:0.5:1:%d", rows))
	}
	refused := func(what string, err error, rows, most int) {
		t.Helper()
		if want := fmt.Sprintf("rra[0].rows: %d rows, at most %d are allowed", rows, most); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
	mustCreate(t, s, "most", def(core.DefaultMaxRows))
	_, err := s.Create(ctx, core.Spec{Path: "more", Definition: def(core.DefaultMaxRows + 1)})
	refused("create", err, core.DefaultMaxRows+1, core.DefaultMaxRows)
	m, err := rra.Compile(def(core.DefaultMaxRows + 1))
	if err != nil {
		t.Fatal(err)
	}
	larger := core.Copy{Path: "most", Definition: m.Definition(), State: m.NewState(rra.Seconds(programStart))}
	out, err := s.Import(ctx, []core.Copy{larger}, true)
	if err != nil {
		t.Fatal(err)
	}
	refused("import", out[0].Err, core.DefaultMaxRows+1, core.DefaultMaxRows)
	mustCreate(t, s, "small", def(10))
	_, err = s.Alter(ctx, "small", func(core.Copy) (core.Copy, error) { return larger, nil })
	refused("alter", err, core.DefaultMaxRows+1, core.DefaultMaxRows)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	// A limit that was lowered takes nothing away.
	s = enginetest.OpenDir(t, dir, core.Options{MaxRows: 10})
	if _, err := s.Lookup("most"); err != nil {
		t.Error(err)
	}
	mustCreate(t, s, "ten", def(10))
	_, err = s.Create(ctx, core.Spec{Path: "eleven", Definition: def(11)})
	refused("create with MaxRows", err, 11, 10)
}

// A Create with n labels compared each with each: 20,000 took 4 s, and 80,000 minutes.
func TestLabelsAreLimited(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	labels := func(n, size int) (ls []core.Label) {
		for i := range n {
			name := fmt.Sprintf("name%04d", i)
			ls = append(ls, core.Label{Name: name, Value: strings.Repeat("v", size-len(name))})
		}
		return ls
	}
	for _, tt := range []struct {
		name   string
		labels []core.Label
		want   string
	}{
		{"most", labels(core.MaxLabels, core.MaxLabelBytes/core.MaxLabels), ""},
		{"number", labels(core.MaxLabels+1, 10), "257 labels, at most 256 are possible"},
		{"size", labels(17, core.MaxLabel), "labels of 69632 bytes, at most 65536 are possible"},
		{"one", labels(1, core.MaxLabel+1), "is empty or longer than 4096 bytes"},
		{"twice", append(labels(20, 10), labels(1, 10)...), `label "name0000" is there twice`},
	} {
		_, err := s.Create(t.Context(), core.Spec{Path: tt.name, Definition: def, Labels: tt.labels})
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestBatchesAndDefinitionsAreLimited(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	specs := make([]core.Spec, core.MaxBatch+1)
	for i := range specs {
		specs[i] = core.Spec{Path: fmt.Sprint("s", i), Definition: def}
	}
	_, err := s.CreateBatch(t.Context(), specs)
	if want := "65537 series at once, at most 65536 are possible"; !errors.Is(err, core.ErrInvalid) || err.Error() != want {
		t.Errorf("a large batch: %v, want %s", err, want)
	}
	if out, err := s.CreateBatch(t.Context(), specs[:core.MaxBatch]); err != nil || out[core.MaxBatch-1].Err != nil {
		t.Errorf("the largest batch: %v", err)
	}
	long := *def
	long.Sources = append([]rra.DataSource(nil), def.Sources...)
	for i := range rra.MaxComputes {
		long.Sources = append(long.Sources, rra.DataSource{Name: fmt.Sprint("c", i), Kind: rra.Compute, Expr: strings.Repeat("a", rra.MaxExpression)})
	}
	_, err = s.Create(t.Context(), core.Spec{Path: "long", Definition: &long})
	if want := "bytes, at most 1048576 are possible"; !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("a long definition: %v, want %s", err, want)
	}
}

// An expression of a matcher could take any size: one of 3.9 MB took 613 MB.
func TestMatchersAreLimited(t *testing.T) {
	s := enginetest.Open(t)
	def := definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	for _, v := range []string{"abc", "abcd"} {
		mustCreate(t, s, v, def, core.Label{Name: "l", Value: v})
	}
	selected := func(m core.Matcher) (n int, err error) {
		for _, e := range s.Select(t.Context(), core.Query{Matchers: []core.Matcher{m}, Order: core.ByRef}) {
			if e != nil {
				return n, e
			}
			n++
		}
		return n, nil
	}
	for _, tt := range []struct {
		name  string
		op    core.MatchOp
		value string
		want  int
		err   string
	}{
		{"expression", core.MatchRegexp, "ab.", 1, ""},
		{"not", core.MatchNotRegexp, "ab.", 1, ""},
		{"invalid", core.MatchRegexp, "[0-", 0, "missing closing ]"},
		{"not of an invalid one", core.MatchNotRegexp, "(", 0, "missing closing )"},
		{"long", core.MatchRegexp, strings.Repeat("x", core.MaxExpression+1), 0, "an expression of 4097 bytes: more than 4096"},
		{"repeated", core.MatchRegexp, strings.Repeat("(abcdefghijklmnopqrst){999}", 2), 0, "repeats too much"},
		{"no comparison", core.MatchBelow + 1, "x", 0, "no comparison has the number 5"},
		{"paths without folders", core.MatchBelow, "x", 0, "its Folders are nil"},
	} {
		m, err := core.NewMatcher(tt.op, "l", tt.value)
		if tt.err == "" && err != nil || tt.err != "" && (!errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
		if err == nil {
			if n, err := selected(m); n != tt.want || err != nil {
				t.Errorf("%s: %d series, %v, want %d", tt.name, n, err, tt.want)
			}
		}
	}
}
