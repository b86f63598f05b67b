package graphite

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// write writes a file of a folder.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// described returns the step and archives of a definition as a text.
func described(d *rra.Definition) string {
	words := []string{fmt.Sprint(d.Step)}
	for _, a := range d.Archives {
		words = append(words, a.String())
	}
	return strings.Join(words, " ")
}

const storage = `# a comment
[carbon]
pattern = ^carbon\.
retentions = 60:90d

[default_1min_for_1day]
Pattern: .*\.load
RETENTIONS = 10s:6h,
  1min:7d, 10m : 5y

; another
[tagged]
pattern = ;host=web1(;|$)
priority = 100
retentions = 15m:8
`

const aggregations = `[min]
pattern = \.min$
xFilesFactor = 0.1
aggregationMethod = min

[any]
pattern = .*load$
xFilesFactor = 0
aggregationMethod = sum
`

// TestSchemas: the first section whose pattern a name matches decides, and what the policy says of
// the step comes before it.
func TestSchemas(t *testing.T) {
	dir := t.TempDir()
	_, err := openSchemas(60, write(t, dir, "schemas", storage), write(t, dir, "aggregation", aggregations), slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("a space before a colon is taken, which whisper refuses")
	}
	text := strings.Replace(storage, "10m : 5y", "10m:5y", 1)
	s, err := openSchemas(60, write(t, dir, "schemas", text), write(t, dir, "aggregation", aggregations), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		step int64
		want string
	}{
		{"carbon.x", 0, "60 RRA:AVERAGE:0.5:1:129600"},
		{"carbon.min", 0, "60 RRA:MIN:0.9:1:129600"},
		{"web.load", 0, "10 RRA:AVERAGE:0.999999:1:2160 RRA:AVERAGE:0.999999:6:10080 RRA:AVERAGE:0.999999:60:262800"},
		{"web.load", 60, "60 RRA:AVERAGE:0.999999:1:360 RRA:AVERAGE:0.999999:1:10080 RRA:AVERAGE:0.999999:10:262800"},
		{"cpu;dc=a;host=web1", 0, "900 RRA:AVERAGE:0.5:1:8"},
		{"cpu;dc=a;host=web12", 0, described(receivers.StandardDefinition(60))},
		{"other", 5, described(receivers.StandardDefinition(5))},
	} {
		d := s.Define(tt.name, tt.step)
		if diff := cmp.Diff(tt.want, described(d)); diff != "" {
			t.Errorf("%s, step %d (-want +got):\n%s", tt.name, tt.step, diff)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestSchemasRefused: what carbon leaves out in silence is an error that names file and section.
func TestSchemasRefused(t *testing.T) {
	for text, want := range map[string]string{
		"pattern = x":                                   "line 1: no [SECTION]",
		"[a]\nretentions = 1m:1d":                       "line 1: [a]: pattern is missing",
		"\n[a]\npattern = x":                            "line 2: [a]: retentions are missing",
		"[a]\npattern = (?=x)\nretentions = 1m:1d":      "[a]: pattern: ",
		"[a]\npattern = x\nretentions = 1m":             "ROW:TIME",
		"[a]\npattern = x\nretentions = 1m:1x":          `"1x" is no number`,
		"[a]\npattern = x\nretentions = 0:1d":           "at least a second",
		"[a]\npattern = x\nretentions = 1d:1h":          "has no rows",
		"[a]\npattern = x\nretentions = 10s:1h,15s:2h":  "no multiple",
		"[a]\npattern = x\nretentions = 10s:1h,20s:1h":  "kept for longer",
		"[a]\npattern = x\nretentions = 10s:1h,10s:2h":  "twice",
		"[a]\npattern = x\nretentions = 1s:999999999y":  "is not in",
		"[a]\npattern = x\nretentions = 1s:99999999999": "rows",
		"[a]\nx": "no KEY = VALUE",
	} {
		_, err := openSchemas(60, write(t, t.TempDir(), "schemas", text), "", nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--graphite-schemas") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"[a]\npattern = x\naggregationMethod = mean": `"mean"`,
		"[a]\npattern = x\nxFilesFactor = 2":         "xFilesFactor",
	} {
		_, err := openSchemas(60, "", write(t, t.TempDir(), "aggregation", text), nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--graphite-aggregation") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestSchemasReadAgain: a file that has changed holds for the next new series; one that is wrong
// does not, and what was read before stays.
func TestSchemasReadAgain(t *testing.T) {
	dir := t.TempDir()
	name := write(t, dir, "schemas", "[a]\npattern = .\nretentions = 1s:1d")
	var log strings.Builder
	s, err := openSchemas(60, name, "", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	for i, tt := range []struct {
		text string
		step int64
		log  string
	}{
		{"[a]\npattern = .\nretentions = 20s:1d", 20, "read again"},
		{"[a]\npattern = .\nretentions = 300s", 20, "stays in force"},
		{"[a]\npattern = .\nretentions = 4000s:1d", 4000, "read again"},
	} {
		write(t, dir, "schemas", tt.text)
		now = now.Add(refreshEvery)
		log.Reset()
		s.refresh(now)
		if got := s.Define("x", 0).Step; got != tt.step || !strings.Contains(log.String(), tt.log) {
			t.Errorf("change %d: the step is %d, want %d; the log: %s", i, got, tt.step, log.String())
		}
		log.Reset()
		s.refresh(now.Add(refreshEvery / 2))
		if log.Len() > 0 {
			t.Errorf("change %d is told twice: %s", i, log.String())
		}
	}
}
