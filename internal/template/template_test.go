package template_test

import (
	"errors"
	"fmt"
	"html"
	"io"
	"strings"
	"testing"
	original "text/template"
	"time"

	"github.com/rondo-db/rondo/internal/template"
)

type inner struct {
	Name string
	None *inner
}

type outer struct {
	inner

	Text        string
	Number      int
	Unsigned    uint8
	Float       float64
	Yes         bool
	List        []string
	Array       [2]int
	Map         map[string]int
	Numbers     map[int]string
	Any         map[string]any
	Nothing     any
	Something   any
	Pointer     *inner
	At          time.Time
	Took        *time.Duration
	unexported  string
	Structs     []inner
	Empty       []string
	Bytes       []byte
	EmptyNested map[string]map[string]string
}

func data() outer {
	return outer{
		inner: inner{Name: "embedded"}, Text: `a"<b>&c`, Number: -7, Unsigned: 200, Float: 1.5, Yes: true, List: []string{"x", "y", "z"},
		Array: [2]int{4, 5}, Map: map[string]int{"b": 2, "a": 1, "c": 3}, Numbers: map[int]string{10: "ten", -1: "less", 2: "two"},
		Any: map[string]any{"n": 3, "s": "text", "nil": nil}, Something: inner{Name: "in an interface"}, Pointer: &inner{Name: "pointed at"},
		At: time.Unix(1_700_000_000, 5).UTC(), Took: new(90 * time.Minute), unexported: "no", Structs: []inner{{Name: "1"}, {Name: "2"}}, Bytes: []byte("bytes"),
	}
}

var funcs = template.Funcs{
	"join":   strings.Join,
	"two":    func(a string, b int) string { return fmt.Sprint(a, "+", b) },
	"many":   func(a float64, rest ...uint) string { return fmt.Sprint(a, rest) },
	"broken": func() (string, error) { return "half", errors.New("it is broken") },
	"panics": func() string { panic("in panic") },
	"same":   func(v any) any { return v },
	"name":   func(i inner) string { return i.Name },
	"ptr":    func(i *inner) string { return i.Name },
	"later":  func() *time.Time { return new(time.Unix(1, 0).UTC()) },
}

// TestTemplatesAsText compares texts, and which templates fail, with text/template.
func TestTemplatesAsText(t *testing.T) {
	parts := []string{
		"plain", "{{.}}"[:0], "{{.Text}}", "{{.Name}} {{.Number}} {{.Unsigned}} {{.Float}} {{.Yes}}", "{{.List}} {{.Map}} {{.Numbers}} {{.Array}}",
		"{{.Nothing}}", "{{.Something}} {{.Something.Name}}", "{{.Pointer.Name}} {{.Pointer}}", "{{.Pointer.None}}", "{{.Pointer.None.Name}}", "{{.Absent}}", "{{.unexported}}",
		"{{.Any.n}} {{.Any.s}} {{.Any.nil}} {{.Any.absent}} {{.Any.absent.more}}", "{{.Map.a}} {{.Map.absent}}", "{{.EmptyNested.a.b}}", "{{.Bytes}} {{printf `%s` .Bytes}}",
		"{{.At}} {{.At.Year}} {{.At.Month}} {{.At.Month.String}} {{.At.Weekday}} {{.At.Unix}} {{.At.Format `2006-01-02`}} {{(.At.Add 3600000000000).Hour}}", "{{.At.Format}}", "{{`2006` | .At.Format}}",
		"{{.Took}} {{.Took.Hours}} {{.Took.Minutes | printf `%.1f`}} {{.Took.Round 3600000000000}}", "{{later}} {{later.Unix}} {{(later).Year}} {{.At.Sub later}} {{(.At.AddDate 1 2 3).YearDay}} {{later.Before .At}}",
		"{{if .Yes}}y{{else}}n{{end}}{{if .Nothing}}y{{else if .Empty}}e{{else}}n{{end}}{{if not .Number}}zero{{end}}", "{{with .Pointer}}{{.Name}}{{end}}{{with .Nothing}}x{{else}}none{{end}}{{with .Empty}}x{{else with .Text}}{{.}}{{end}}",
		"{{range .List}}<{{.}}>{{end}}{{range .Empty}}x{{else}}none{{end}}{{range $i, $e := .List}}{{$i}}={{$e}} {{end}}", "{{range $k, $v := .Map}}{{$k}}:{{$v}};{{end}}{{range $k, $v := .Numbers}}{{$k}}:{{$v}};{{end}}",
		"{{range 3}}{{.}}{{end}}{{range $i := 2}}{{$i}}{{end}}{{range .Unsigned}}{{break}}{{end}}", "{{range $i, $j := 3}}{{end}}", "{{range .Text}}{{.}}{{end}}", "{{range .Number}}x{{else}}none{{end}}",
		"{{range .List}}{{if eq . `y`}}{{continue}}{{end}}{{.}}{{if eq . `z`}}{{break}}{{end}}{{end}}", "{{range .List}}<{{range 0}}{{else}}{{continue}}{{end}}>{{end}}", "{{range .List}}<{{range 0}}{{else}}{{break}}{{end}}>{{end}}", "{{$i := 0}}{{range $i = 4}}{{end}}{{$i}}", "{{range $x := .Structs}}{{$.Text}}{{$x.Name}}{{.Name}}{{name .}}{{ptr .}}{{end}}",
		"{{$x := 1}}{{if .Yes}}{{$x = 2}}{{$x := 3}}{{$x}}{{end}}{{$x}}", "{{define `t`}}[{{.}}{{$.}}]{{end}}{{template `t` .Text}}{{template `t`}}{{template `absent` .}}", "{{block `b` .Map}}{{.a}}{{end}}",
		"{{join .List `,`}} {{.List | len}} {{`,` | join .List}} {{two `a` 3}} {{3 | two `a`}} {{many 1}} {{many 1 2 3}} {{many 1.5 | same}}", "{{two `a`}}", "{{two `a` `b`}}", "{{two 1 1}}", "{{many}}", "{{many `x`}}", "{{many 1 -2}}",
		"{{broken}}", "{{panics}}", "{{absent}}", "{{.Text.More}}", "{{.Text 3}}", "{{3 | .Text}}", "{{.Map.a 3}}", "{{nil}}", "{{same nil}}", "{{name nil}}", "{{ptr nil}}", "{{1 2}}", "{{name .Pointer}} {{ptr .Pointer}}",
		"{{index .List 1}} {{index .Map `b`}} {{index .Map `absent`}} {{index .Numbers 2}} {{index .Array 1}} {{index .Any `s`}} {{index .Text 0}} {{index .EmptyNested `a` `b`}} {{index .List}}", "{{index .List 3}}", "{{index .List -1}}", "{{index .List `a`}}", "{{index .Number 1}}", "{{index nil 1}}", "{{index .Map 1}}", "{{index .Map nil}}",
		"{{slice .List 1}} {{slice .List 1 2}} {{slice .Text 1 3}} {{slice .List}} {{slice .List 0 1 2}}", "{{slice .List 2 1}}", "{{slice .List 9}}", "{{slice .Text 0 1 2}}", "{{slice .Map 1}}", "{{len .Map}} {{len .Text}} {{len .Array}}", "{{len 3}}", "{{len nil}}", "{{len .Nothing}}",
		"{{and 1 0 2}} {{or 0 `` 5}} {{and true}} {{or .Nothing .Text}} {{and .Yes (eq 1 1)}} {{3 | and 1}} {{or 1 (broken)}} {{and 0 (broken)}}", "{{and}}", "{{and 1 (broken)}}", "{{not 1}} {{not .Nothing}} {{.Yes | not}}",
		"{{eq 1 1}} {{eq 1 2 1}} {{eq `a` `b`}} {{eq .Float 1.5}} {{eq .Unsigned 200}} {{eq .Number -7}} {{ne 1 2}} {{eq .Yes true}} {{eq .Nothing nil}} {{eq .Pointer .Pointer}} {{eq .At .At}} {{eq .Array .Array}} {{eq .Pointer nil}}", "{{eq 1 1.0}}", "{{eq 1 `1`}}", "{{eq .List .List}}", "{{eq 1}}", "{{eq .Map nil}}", "{{ne .Nothing 1}}",
		"{{lt 1 2}} {{le 2 2}} {{gt 3 2}} {{ge 1 2}} {{lt `a` `b`}} {{lt 1.5 .Float}} {{lt .Number .Unsigned}} {{gt .Unsigned .Number}} {{ge .Unsigned 200}}", "{{lt 1 1.5}}", "{{lt .Nothing 1}}", "{{lt .Yes true}}", "{{gt .List 1}}",
		"{{html .Text}} {{js .Text}} {{urlquery .Text}} {{print 1 2 `a`}} {{println 1}} {{printf `%d %s|%v` 1 `x` .Map}}", "{{'x'}} {{0x1F}} {{1e3}} {{0b101}} {{1_000}} {{1.0}} {{0x1p4}} {{true}} {{`raw`}} {{\"q\\n\"}}", "{{18446744073709551615}}", "{{1i}}",
		"{{/* a remark */}}a {{- 1 -}} b", "{{", "{{if}}{{end}}", "{{end}}", "{{$undefined}}", "{{break}}", "{{(index .Structs 0).Name}} {{(same .Pointer).Name}} {{(.Something).Name}}",
		"{{define `r`}}{{if .}}{{template `r` (slice . 1)}}{{end}}.{{end}}{{template `r` .List}}", "{{with $x := .Number}}{{$x}}{{end}}{{with $y := 0}}{{$y}}{{else}}{{.Text}}{{end}}",
	}
	for _, text := range parts {
		var want, got strings.Builder
		o, wantErr := original.New("T").Funcs(original.FuncMap(funcs)).Option("missingkey=zero").Parse(text)
		if wantErr == nil {
			wantErr = o.Execute(&want, data())
		}
		p, err := template.Parse("T", text, funcs)
		if err == nil {
			err = p.Execute(&got, "T", data())
		}
		if (err == nil) != (wantErr == nil) || got.String() != want.String() {
			t.Errorf("%s:\n got %q, %v\nwant %q, %v", text, got.String(), err, want.String(), wantErr)
		}
	}
}

// TestEscaped: every value is escaped, what is HTML already is not.
func TestEscaped(t *testing.T) {
	p := template.Must(template.Parse("T", `<a title="{{.Text}}">{{.Whole}}</a>{{range .List}}{{.}}{{end}}`, nil))
	p.Escape = html.EscapeString
	var got strings.Builder
	err := p.Execute(&got, "T", map[string]any{"Text": `"<b>'`, "Whole": template.HTML("<i>&amp;</i>"), "List": []any{"<", 1, template.HTML("<br>")}})
	if want := `<a title="&#34;&lt;b&gt;&#39;"><i>&amp;</i></a>&lt;1<br>`; err != nil || got.String() != want {
		t.Errorf("%s, %v, want %s", &got, err, want)
	}
}

// TestCounted: what a template writes, its rounds and its calls are counted, and an error of Count
// ends it.
func TestCounted(t *testing.T) {
	p := template.Must(template.Parse("T", `{{define "t"}}in{{end}}a{{range 100}}{{end}}{{template "t"}}{{1}}`, nil))
	var counted []string
	p.Count = func(v any) error { counted = append(counted, fmt.Sprint(v)); return nil }
	var got strings.Builder
	if err := p.Execute(&got, "T", nil); err != nil || got.String() != "ain1" || len(counted) != 104 {
		t.Errorf("%q, %v, %d counted", &got, err, len(counted))
	}
	full := errors.New("full")
	p.Count = func(any) error { return full }
	if err := p.Execute(&got, "T", nil); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
	if err := p.Execute(&got, "absent", nil); err == nil {
		t.Error("an absent template is executed")
	}
}

// TestNested: a template that calls itself inside of other lists ends with an error, and not with a
// stack that is full, which nothing recovers.
func TestNested(t *testing.T) {
	const deep = 200
	text := "{{define `t`}}" + strings.Repeat("{{if 1}}", deep) + "{{template `t`}}" + strings.Repeat("{{end}}", deep) + "{{end}}{{template `t`}}"
	if err := template.Must(template.Parse("T", text, nil)).Execute(io.Discard, "T", nil); err == nil || !strings.Contains(err.Error(), "inside of each other") {
		t.Errorf("got %v", err)
	}
}
