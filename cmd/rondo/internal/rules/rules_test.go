package rules

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

func parse(t *testing.T, text string) (*List, error) {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return Parse(doc.Content[0])
}

func TestParse(t *testing.T) {
	l, err := parse(t, `
- path: collectd/*/cpu-*/**   # every processor
  labels: {host: "web*", "type": cpu}
  step: 10s
  heartbeat: 5m
  archives: &long
    - 'RRA:AVERAGE:0.5:10s:1d'
    - 'RRA:AVERAGE:0.5:5m:1y'
  expire: 30d
- expire: never
  archives: *long
- {path: "a: b", step: 90}
- {path: "gw/**", sources: ["DS:in:COUNTER:600:0:U"]}
`)
	if err != nil {
		t.Fatal(err)
	}
	long := []string{"RRA:AVERAGE:0.5:10s:1d", "RRA:AVERAGE:0.5:5m:1y"}
	want := []Rule{
		{
			Rule: sink.Rule{
				Path: "collectd/*/cpu-*/**", Labels: map[string]string{"host": "web*", "type": "cpu"},
				Step: 10, Heartbeat: 300, Archives: long, Expire: 30 * 86400,
			},
			Line: 2,
			Text: `{path: collectd/*/cpu-*/**, labels: {host: "web*", "type": cpu}, step: 10s, heartbeat: 5m, ` +
				`archives: ['RRA:AVERAGE:0.5:10s:1d', 'RRA:AVERAGE:0.5:5m:1y'], expire: 30d}`,
		},
		{
			Rule: sink.Rule{Archives: long, Expire: -1}, Line: 10,
			Text: `{expire: never, archives: ['RRA:AVERAGE:0.5:10s:1d', 'RRA:AVERAGE:0.5:5m:1y']}`,
		},
		{Rule: sink.Rule{Path: "a: b", Step: 90}, Line: 12, Text: `{path: "a: b", step: 90}`},
		{
			Rule: sink.Rule{Path: "gw/**", Sources: []string{"DS:in:COUNTER:600:0:U"}}, Line: 13,
			Text: `{path: "gw/**", sources: ["DS:in:COUNTER:600:0:U"]}`,
		},
	}
	if diff := cmp.Diff(want, l.Rules, cmpopts.IgnoreUnexported(Rule{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := l.Policy.Expire(receivers.Identity{Path: "x"}); got >= 0 {
		t.Errorf("never is %v", got)
	}
	if l, err = parse(t, "null"); err != nil || l.Policy.Match(receivers.Identity{}) != -1 {
		t.Errorf("no rules: %v", err)
	}
}

// TestPartners: archives of the Holt-Winters family refer to each other, or bring their partners
// along.
func TestPartners(t *testing.T) {
	l, err := parse(t, `
- path: implied
  archives: ["RRA:AVERAGE:0.5:1:600", "RRA:HWPREDICT:1440:0.1:0.0035:288"]
- path: said
  archives:
    - RRA:HWPREDICT:1440:0.1:0.0035:288:2
    - RRA:SEASONAL:288:0.1:1
    - RRA:DEVPREDICT:1440:4
    - RRA:DEVSEASONAL:288:0.1:1
    - RRA:FAILURES:288:7:9:4
`)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"implied": "AVERAGE HWPREDICT SEASONAL DEVSEASONAL DEVPREDICT FAILURES",
		"said":    "HWPREDICT SEASONAL DEVPREDICT DEVSEASONAL FAILURES",
	} {
		d, err := l.Policy.Define(receivers.Identity{Path: path}, receivers.StandardDefinition)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range d.Archives {
			got = append(got, a.CF.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
		if _, err := rra.Compile(d); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		want string
	}{
		{"a: 1", 0, "want a list of rules"},
		{"- path: a\n- 7", 2, "rule 2: want the keys of a rule"},
		{"- path: a\n  stop: 10", 2, `rule 1: unknown key "stop"`},
		{"- path: a\n  xff: 0.5", 2, `rule 1: unknown key "xff"`},
		{"- &r {path: a}\n- <<: *r", 2, `rule 2: unknown key "<<"`},
		{"- path: a\n  step: 1\n  path: b", 3, `rule 1: key "path" is there twice`},
		{"- path: [a]", 1, "rule 1: path: want one value"},
		{"- path:", 1, "rule 1: path: want one value"},
		{"- labels: [a]", 1, "rule 1: labels: want names and patterns"},
		{"- labels: {a: [b]}", 1, `rule 1: labels: "a": want one value`},
		{"- labels: {a: b, a: c}", 1, `rule 1: labels: label "a" is there twice`},
		{"- labels: {'': b}", 1, "rule 1: labels: a label has no name"},
		{"- step: ten", 1, `rule 1: step: "ten" is no duration: want `},
		{"- step: 1h30m", 1, `rule 1: step: "1h30m" is no duration`},
		{"- step: 5mm", 1, `rule 1: step: "5mm" is no duration`},
		{"- step: 1.5", 1, `rule 1: step: "1.5" is no duration`},
		{"- step: -1", 1, `rule 1: step: "-1" is no duration`},
		{"- step: 500ms", 1, `rule 1: step: "500ms" is no duration`},
		{"- step: 0", 1, `rule 1: step: "0": value must be positive`},
		{"- step: 99999999999999999999", 1, `rule 1: step: "99999999999999999999": duration: value is too large`},
		{"- heartbeat: 1m\n  step: 99y", 2, "rule 1: step: 3130617600 is not in 1..2147483648"},
		{"- path: a\n- step: 60\n  heartbeat: 999999999y", 3, "rule 2: heartbeat: 31622399968377600 is not in "},
		{"- expire: soon", 1, `rule 1: expire: "soon" is no duration`},
		{"- expire: 300y", 1, "rule 1: expire: 9486720000 seconds are more than "},
		{"- archives: RRA:AVERAGE:0.5:1:1", 1, "rule 1: archives: want a list of archives"},
		{"- archives: []", 1, "rule 1: archives: want a list of archives"},
		{"- archives:\n  - {a: b}", 1, "rule 1: archives: want one value"},
		{"- path: a\n  archives: [DS:a:GAUGE:1:U:U]", 2, `rule 1: archives: "DS:a:GAUGE:1:U:U" is no archive, `},
		{"- path: a\n  archives: ['RRA:NOSUCH:0.5:1:1']", 2, "rule 1: archives: Unrecognized consolidation function NOSUCH"},
		{"- step: 10\n  archives: ['RRA:AVERAGE:0.5:15s:1d']", 2, "rule 1: archives: "},
		{"- archives: ['RRA:HWPREDICT:1440:0.1:0.0035:288:3']", 1, "rule 1: archives: rra[0].partner: "},
	} {
		_, err := parse(t, tt.text)
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %s", tt.text, err, tt.want)
			continue
		}
		var e *Error
		if errors.As(err, &e) != (tt.line > 0) || e != nil && e.Line() != tt.line {
			t.Errorf("%q: %#v, want line %d", tt.text, err, tt.line)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90": 90 * time.Second, "90s": 90 * time.Second, "15m": 15 * time.Minute, "12h": 12 * time.Hour,
		"30d": 30 * 24 * time.Hour, "4w": 28 * 24 * time.Hour, "6M": 186 * 24 * time.Hour, "1y": 366 * 24 * time.Hour,
	} {
		got, err := ParseDuration(text)
		if err != nil || got != int64(want/time.Second) {
			t.Errorf("%s: %d, %v, want %v", text, got, err, want)
		}
	}
}
