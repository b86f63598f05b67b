// Package rules reads the rules for new series, the key policy of the configuration file:
//
//	policy:
//	  - path: collectd/*/cpu-*/**
//	    labels: {host: "web*"}
//	    step: 10s
//	    heartbeat: 30s
//	    archives: ["RRA:AVERAGE:0.5:10s:1d", "RRA:AVERAGE:0.5:5m:1y"]
//	    expire: 30d
//
// Every key is optional. An error names the rule, the field and the line of the mistake.
package rules

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// Key is the key of the file that holds the rules.
const Key = "policy"

// never is the value of expire for series that do not expire.
const never = "never"

// A Rule is a rule as it stands in a file.
type Rule struct {
	sink.Rule
	// Line is the line where the rule begins.
	Line int
	// Text is the rule on one line.
	Text string

	lines map[string]int // line of each field
}

// A List is the rules of a file, in order, and the policy that they were compiled to.
type List struct {
	Rules  []Rule
	Policy *sink.Policy
}

// An Error is a mistake in one rule.
type Error struct {
	Rule  int    // counted from 1
	Field string // empty: the rule as a whole
	Err   error

	line int
}

func (e *Error) Error() string {
	where := fmt.Sprintf("rule %d: ", e.Rule)
	if e.Field != "" {
		where += e.Field + ": "
	}
	return where + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Line returns the line of the mistake.
func (e *Error) Line() int { return e.line }

// Parse reads the value of the key policy.
func Parse(n *yaml.Node) (*List, error) {
	n = target(n)
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return &List{}, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, errors.New("want a list of rules")
	}
	l := &List{Rules: make([]Rule, len(n.Content))}
	plain := make([]sink.Rule, len(n.Content))
	for i, node := range n.Content {
		if err := l.Rules[i].parse(node); err != nil {
			err.Rule = i + 1
			return nil, err
		}
		plain[i] = l.Rules[i].Rule
	}
	var err error
	if l.Policy, err = sink.NewPolicy(plain); err != nil {
		return nil, l.place(err)
	}
	return l, nil
}

// CheckRows reports the first rule with an archive of more rows than a new series may have.
func (l *List) CheckRows(most int64) error {
	for i := range l.Rules {
		r := &l.Rules[i]
		if len(r.Archives) == 0 {
			continue
		}
		archives, err := sink.ParseArchives(max(r.Step, 1), r.Archives)
		if err != nil {
			return err // cannot happen: Parse has read the archives before
		}
		for j := range archives {
			if n := archives[j].Rows; n > most {
				err := fmt.Errorf("%s has %d rows, at most %d are allowed (--max-rows)", r.Archives[min(j, len(r.Archives)-1)], n, most)
				return l.place(&sink.RuleError{Rule: i + 1, Field: sink.FieldArchives, Err: err})
			}
		}
	}
	return nil
}

// place adds the line to an error of package receivers.
func (l *List) place(err error) error {
	var e *sink.RuleError
	if !errors.As(err, &e) {
		return err
	}
	r := &l.Rules[e.Rule-1]
	line, ok := r.lines[e.Field]
	if !ok {
		line = r.Line
	}
	return &Error{Rule: e.Rule, Field: e.Field, line: line, Err: e.Err}
}

func (r *Rule) parse(n *yaml.Node) *Error {
	r.Line, r.lines = n.Line, make(map[string]int)
	n = target(n)
	if n.Kind != yaml.MappingNode {
		return &Error{line: r.Line, Err: errors.New("want the keys of a rule")}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, ok := r.lines[key.Value]; ok {
			return &Error{line: key.Line, Err: fmt.Errorf("key %q is there twice", key.Value)}
		}
		r.lines[key.Value] = key.Line
		known, err := r.set(key.Value, target(value))
		if !known {
			return &Error{line: key.Line, Err: fmt.Errorf("unknown key %q", key.Value)}
		}
		if err != nil {
			return &Error{Field: key.Value, line: key.Line, Err: err}
		}
	}
	r.Text = text(n)
	return nil
}

// set reads the field of a key. known is false if there is no such field.
func (r *Rule) set(key string, n *yaml.Node) (known bool, err error) {
	switch key {
	case sink.FieldPath:
		r.Path, err = scalar(n)
	case sink.FieldLabels:
		r.Labels, err = labels(n)
	case sink.FieldStep:
		r.Step, err = duration(n)
	case sink.FieldHeartbeat:
		r.Heartbeat, err = duration(n)
	case sink.FieldArchives:
		r.Archives, err = list(n, "archives")
	case sink.FieldSources:
		r.Sources, err = list(n, "data sources")
	case sink.FieldExpire:
		if n.Kind == yaml.ScalarNode && n.Value == never {
			r.Expire = -1
		} else {
			r.Expire, err = duration(n)
		}
	default:
		return false, nil
	}
	return true, err
}

func duration(n *yaml.Node) (int64, error) {
	s, err := scalar(n)
	if err != nil {
		return 0, err
	}
	return ParseDuration(s)
}

func labels(n *yaml.Node) (map[string]string, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("want names and patterns")
	}
	out := make(map[string]string, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i].Value
		pattern, err := scalar(target(n.Content[i+1]))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		if _, ok := out[name]; ok {
			return nil, fmt.Errorf("label %q is there twice", name)
		}
		out[name] = pattern
	}
	return out, nil
}

func list(n *yaml.Node, of string) (out []string, err error) {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 {
		return nil, fmt.Errorf("want a list of %s", of)
	}
	for _, v := range n.Content {
		s, err := scalar(target(v))
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// ParseDuration reads seconds, as a number or with one of the units s m h d w M (31 days) y (366
// days).
func ParseDuration(s string) (int64, error) {
	digits := strings.TrimRight(s, "smhdwMy")
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(s)-len(digits) > 1 {
		return 0, fmt.Errorf("%q is no duration: want 90 (seconds), 90s, 15m, 12h, 30d, 4w, 6M, 1y", s)
	}
	d, err := rra.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", s, err)
	}
	return d, nil
}

func scalar(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return "", errors.New("want one value")
	}
	return n.Value, nil
}

// target returns the node that an alias refers to, or n itself.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// text returns a node as one line of YAML.
func text(n *yaml.Node) string {
	b, err := yaml.Marshal(flow(n))
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(b))
}

// flow returns a copy of n in flow style, without anchors and comments.
func flow(n *yaml.Node) *yaml.Node {
	n = target(n)
	c := &yaml.Node{Kind: n.Kind, Tag: n.Tag, Value: n.Value, Style: n.Style &^ (yaml.LiteralStyle | yaml.FoldedStyle)}
	if n.Kind != yaml.ScalarNode {
		c.Style = yaml.FlowStyle
	}
	for _, child := range n.Content {
		c.Content = append(c.Content, flow(child))
	}
	return c
}
