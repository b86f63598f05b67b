package rules

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestParseMetrics(t *testing.T) {
	for _, c := range []struct{ text, err string }{
		{"- {path: 'hosts/(.*)', name: 'disk_${ds}', labels: {host: $1}}\n- {path: x, name: y}", ""},
		{"", ""},
		{"7", "want a list of metrics"},
		{"- 7", "rule 1: want the keys of a metric"},
		{"- {path: x, name: y}\n- {path: x, nam: y}", `rule 2: unknown key "nam"`},
		{"- {name: y}", "rule 1: path is missing"},
		{"- {path: x}", `rule 1: the metric of "x" has no name`},
		{"- {path: '(', name: y}", "rule 1: the path of a metric: error parsing regexp"},
		{"- {path: x, name: y, labels: {a-b: c}}", `"a-b" is no name of a label`},
	} {
		var n yaml.Node
		if err := yaml.Unmarshal([]byte("metrics: "+indent(c.text)), &n); err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		list, err := ParseMetrics(n.Content[0].Content[1])
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %q", c.text, err, c.err)
		case c.err == "" && len(list) != strings.Count(c.text, "path"):
			t.Errorf("%s: %d metrics", c.text, len(list))
		}
	}
}

// indent puts a list on lines of its own.
func indent(text string) string {
	if strings.HasPrefix(text, "-") {
		return "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return text
}
