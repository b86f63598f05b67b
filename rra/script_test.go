package rra

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "rewrite the outputs of testdata/*.txt; read the diff")

// TestScripts runs testdata/*.txt: commands, each followed by its indented output.
//
//	create START STEP DS:… RRA:…   begins a series
//	update T:v[:v…] …              one update command; prints the rows it closed
//	state                          prints what the series remembers
//
// Lines that begin with # are comments.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := runScript(t, string(want))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range min(len(g), len(w)) {
				if g[i] != w[i] {
					t.Fatalf("line %d: %q, want %q", i+1, g[i], w[i])
				}
			}
			if len(g) != len(w) {
				t.Fatalf("%d lines, want %d", len(g), len(w))
			}
		})
	}
}

// runScript returns script with the outputs that its commands give.
func runScript(t *testing.T, script string) string {
	t.Helper()
	var out bytes.Buffer
	var s *Series
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "\t") {
			continue
		}
		fmt.Fprintln(&out, line)
		words := strings.Fields(line)
		switch {
		case line == "" || line[0] == '#':
		case words[0] == "create":
			s = scriptCreate(t, words[1:])
		case words[0] == "update":
			scriptUpdate(&out, s, words[1:])
		case words[0] == "state":
			scriptState(&out, s)
		default:
			t.Fatalf("no command %q", line)
		}
	}
	return out.String()
}

func scriptCreate(t *testing.T, words []string) *Series {
	t.Helper()
	start, _ := strconv.ParseInt(words[0], 10, 64)
	step, _ := strconv.ParseInt(words[1], 10, 64)
	d, err := ParseDefinition(step, words[2:])
	if err != nil {
		t.Fatal(err)
	}
	return NewSeries(compile(t, d), "script.rrd", Seconds(start))
}

func scriptUpdate(out *bytes.Buffer, s *Series, words []string) {
	for _, word := range words {
		fields := strings.Split(word, ":")
		at, values, texts := update{at: fields[0], texts: fields[1:]}.reading(s.Machine.Definition())
		runs, err := s.Machine.Step(&s.State, at, values, texts, nil)
		for _, row := range s.Machine.Rows(runs) {
			fmt.Fprintf(out, "\trra[%d] %d:", row.Archive, row.End.Unix())
			for _, v := range row.Values {
				fmt.Fprintf(out, " %v", v)
			}
			fmt.Fprintln(out)
		}
		if err != nil {
			fmt.Fprintf(out, "\terror: %v\n", err)
			s.Machine.AbortUpdate(&s.State)
			return
		}
	}
	s.Machine.EndUpdate(&s.State)
}

func scriptState(out *bytes.Buffer, s *Series) {
	m, d := s.Machine, s.Machine.Definition()
	fmt.Fprintf(out, "\tlast update %d.%06d\n", s.LastUpdate().Unix(), s.LastUpdate().Micro())
	for i := range d.Sources {
		value, unknown := m.PDP(&s.State, i)
		fmt.Fprintf(out, "\tds[%d] last_ds %q value %v unknown_sec %d\n", i, m.LastReading(&s.State, i), value, unknown)
	}
	for a := range d.Archives {
		for i := range d.Sources {
			c := m.CDP(&s.State, a, i)
			fmt.Fprintf(out, "\trra[%d] ds[%d] cur_row %d primary %v secondary %v", a, i, m.CurRow(&s.State, a), c.Primary, c.Secondary)
			switch d.Archives[a].CF {
			case HWPredict, MHWPredict:
				fmt.Fprintf(out, " intercept %v slope %v nulls %d", c.Intercept, c.Slope, c.NullCount)
			case Seasonal, DevSeasonal:
				fmt.Fprintf(out, " seasonal %v rows %v", c.Seasonal, m.RingRow(&s.State, a, i, nil))
			case Failures:
				fmt.Fprintf(out, " history %s", c.History)
			case DevPredict:
			default:
				fmt.Fprintf(out, " value %v unknown %d", c.Value, c.Unknown)
			}
			fmt.Fprintln(out)
		}
	}
}

// TestCompileErrors: a definition that cannot be names its field.
func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*Definition)
	}{
		{"step", func(d *Definition) { d.Step = 0 }},
		{"step", func(d *Definition) { d.Step = math.MaxInt64 }},
		{"ds", func(d *Definition) { d.Sources = nil }},
		{"rra", func(d *Definition) { d.Archives = nil }},
		{"ds[0].name", func(d *Definition) { d.Sources[0].Name = "" }},
		{"ds[1].name", func(d *Definition) { d.Sources[1].Name = d.Sources[0].Name }},
		{"ds[0].kind", func(d *Definition) { d.Sources[0].Kind = 99 }},
		{"ds[0].heartbeat", func(d *Definition) { d.Sources[0].Heartbeat = 0 }},
		{"ds[0].min", func(d *Definition) { d.Sources[0].Min, d.Sources[0].Max = 5, 5 }},
		{"ds[1].expr", func(d *Definition) { d.Sources[1] = DataSource{Name: "x", Kind: Compute, Expr: "nosuch,1,+"} }},
		{"rra[0].cf", func(d *Definition) { d.Archives[0].CF = 99 }},
		{"rra[1].rows", func(d *Definition) { d.Archives[1].Rows = 0 }},
		{"rra[1].pdps", func(d *Definition) { d.Archives[1].PDPs = 0 }},
		{"rra[1].pdps", func(d *Definition) { d.Step, d.Archives[1].PDPs = 1<<31, 1<<30 }},
		{"rra[2].xff", func(d *Definition) { d.Archives[2].XFF = 1 }},
		{"rra[2].xff", func(d *Definition) { d.Archives[2].XFF = math.NaN() }},
		{"rra[0].partner", func(d *Definition) { d.Archives[0] = Archive{CF: HWPredict, PDPs: 1, Rows: 5, Partner: 1} }},
		{"rra[0].partner", func(d *Definition) { d.Archives[0] = Archive{CF: Failures, PDPs: 1, Rows: 5, Partner: 99} }},
		{"rra[0].pdps", func(d *Definition) { d.Archives[0] = Archive{CF: Seasonal, PDPs: 2, Rows: 5, Partner: 1} }},
	} {
		d := benchDefinition(Gauge, 2)
		c.change(d)
		_, err := Compile(d)
		f, ok := err.(*FieldError)
		if !ok || f.Field != c.field {
			t.Errorf("%s: error %v", c.field, err)
		}
	}
}
