package statsd

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

func (r *Reading) String() string {
	value := fmt.Sprint(r.Value)
	switch {
	case r.Type == Set:
		value = string(r.Member)
	case r.Delta:
		value = fmt.Sprintf("%+g", r.Value)
	}
	return fmt.Sprintf("%s %s=%s@%v#%s", r.Type, r.Name, value, r.Rate, r.Tags)
}

// parse is what ParseLine reads, as a text.
func parse(line string) string {
	var out []string
	if err := ParseLine([]byte(line), func(r Reading) { out = append(out, r.String()) }); err != nil {
		out = append(out, err.Reason.String())
	}
	return strings.Join(out, "\n")
}

// reference is a second ParseLine, which takes a line apart with Split.
func reference(line string) string {
	if len(line) > MaxLine {
		return "limit"
	}
	if strings.HasPrefix(line, "_e{") || strings.HasPrefix(line, "_sc|") {
		return "unsupported"
	}
	name, rest, ok := strings.Cut(line, ":")
	if !ok || name == "" {
		return "malformed"
	}
	var out []string
	fail := func(why string) string { return strings.Join(append(out, why), "\n") }
	for {
		fields := strings.Split(rest, "|")
		if len(fields) < 2 {
			return fail("malformed")
		}
		values, fields := fields[0], fields[1:]
		next, more := "", false // what follows the colon behind the last field of this value
		end := func(i int) bool {
			word, after, found := strings.Cut(fields[i], ":")
			if found {
				next, more = strings.Join(append([]string{after}, fields[i+1:]...), "|"), true
				fields = append(fields[:i:i], word)
			}
			return found
		}
		ended := end(0)
		types := map[string]Type{"c": Counter, "g": Gauge, "ms": Timer, "h": Timer, "d": Timer, "s": Set}
		r := Reading{Name: []byte(name), Rate: 1}
		if r.Type, ok = types[fields[0]]; !ok {
			return fail("unsupported")
		}
		for i := 1; i < len(fields) && !ended; i++ {
			f := fields[i]
			switch {
			case strings.HasPrefix(f, "@"):
				ended = end(i)
				rate, ok := decimal.Parse([]byte(fields[i][1:]))
				if !ok || !(rate > 0 && rate <= 1) {
					return fail("malformed")
				}
				r.Rate = rate
			case strings.HasPrefix(f, "#"):
				r.Tags = []byte(f[1:])
			case strings.HasPrefix(f, "c:"), strings.HasPrefix(f, "e:"), strings.HasPrefix(f, "card:"):
			case strings.HasPrefix(f, "T"):
				return fail("unsupported")
			default:
				return fail("malformed")
			}
		}
		if len(name)+len(r.Tags) > MaxName {
			return fail("limit")
		}
		members := strings.Split(values, ":")
		if r.Type == Set {
			members = []string{values}
		}
		for _, v := range members {
			var err error
			r.Member, r.Value, r.Delta = []byte(v), 0, r.Type == Gauge && v != "" && strings.ContainsAny(v[:1], "+-")
			if r.Type != Set {
				r.Value, err = strconv.ParseFloat(v, 64)
				if strings.ContainsAny(v, "xXpP_") || len(v) > decimal.MaxNumber || err != nil && !math.IsInf(r.Value, 0) {
					return fail("malformed")
				}
				if math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
					return fail("state")
				}
			} else if v == "" {
				return fail("malformed")
			}
			out = append(out, r.String())
		}
		if !more {
			return strings.Join(out, "\n")
		}
		rest = next
	}
}

// TestParseLine: lines of statsd and of DogStatsD.
func TestParseLine(t *testing.T) {
	for line, want := range map[string]string{
		"a.b:1|c":                                "counters a.b=1@1#",
		"a:-2.5|c|@0.1":                          "counters a=-2.5@0.1#",
		"a:3|g":                                  "gauges a=3@1#",
		"a:+3|g":                                 "gauges a=+3@1#",
		"a:-3|g":                                 "gauges a=-3@1#",
		"a:320|ms|@0.1|#x:1,y:b:c,z":             "timers a=320@0.1#x:1,y:b:c,z",
		"a:1|h|#x:1|@0.5":                        "timers a=1@0.5#x:1",
		"a:1|d":                                  "timers a=1@1#",
		"a:user 7|s":                             "sets a=user 7@1#",
		"a:1:2:3|ms|@0.5":                        "timers a=1@0.5#\ntimers a=2@0.5#\ntimers a=3@0.5#",
		"a:1|c:2|g:3|ms|@0.5:x|s":                "counters a=1@1#\ngauges a=2@1#\ntimers a=3@0.5#\nsets a=x@1#",
		"a:1|c|c:0123456789abcdef|#x:1":          "counters a=1@1#x:1",
		"a:1|c|#x:1|c:abc|e:it-f,cn-x":           "counters a=1@1#x:1",
		"a,x=1:1|c":                              "counters a,x=1=1@1#",
		"a:1|c|T1700000000":                      "unsupported",
		"_e{5,4}:title|text":                     "unsupported",
		"_sc|name|0":                             "unsupported",
		"a:1|m":                                  "unsupported",
		"a:1|":                                   "unsupported",
		"a:1:x|c":                                "counters a=1@1#\nmalformed",
		"a:1|c|@0":                               "malformed",
		"a:1|c|@1.5":                             "malformed",
		"a:1|c|?":                                "malformed",
		"a:1":                                    "malformed",
		"a":                                      "malformed",
		":1|c":                                   "malformed",
		"a:|c":                                   "malformed",
		"a:|s":                                   "malformed",
		"a:nan|g":                                "state",
		"a:1e999|g":                              "state",
		strings.Repeat("a", 2049) + ":1|c":       "limit",
		"a:1|c|#" + strings.Repeat("b", 2048):    "limit",
		"a:1|c|#" + strings.Repeat("b", MaxLine): "limit",
		strings.Repeat("a", 20) + ":1|c|#x|@0.5:1": "counters " + strings.Repeat("a", 20) + "=1@0.5#x\nmalformed",
	} {
		if diff := cmp.Diff(want, parse(line)); diff != "" {
			t.Errorf("%.60q (-want +got):\n%s", line, diff)
		}
		if got := reference(line); got != want {
			t.Errorf("%.60q: the reference says %s", line, got)
		}
	}
}

// FuzzParseLine compares ParseLine with a slow second version.
func FuzzParseLine(f *testing.F) {
	for _, line := range []string{
		"a.b:1|c", "a:+1.5|g", "a:320|ms|@0.1|#x:1,y", "a:1:2|d|#x:1|c:abc", "a:1|c:2|g|@0.5:3|ms", "a:m|s", "_e{1,1}:a|b", "a[x=1].b:1|h|T1",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if got, want := parse(line), reference(line); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	})
}

// TestParseName: tags of four kinds, and what only looks like them.
func TestParseName(t *testing.T) {
	for _, tt := range []struct{ name, tags, want string }{
		{"a.b", "", "a.b"},
		{"a..b.", "", "a.b"},
		{"a,x=1,y=2", "", "a;x=1;y=2"},
		{"a[x=1,y=2].b", "", "a.b;x=1;y=2"},
		{"a.b[x=1]", "", "a.b;x=1"},
		{"a#y=2,x=1", "", "a;x=1;y=2"},
		{"a", "y:2,x:b:c,z", "a;x=b:c;y=2;z=true"},
		{"a,x=1", "x:2", "a;x=2"},
		{"a,b", "", "a,b"},
		{"a[1]", "", "a[1]"},
		{"a[x=1", "", "a[x=1"},
		{"a#b", "", "a#b"},
		{"a", ",,x", "a;x=true"},
		{"...", "", "error"},
		{"a", ":x", "error"},
		{"a", "__name__:x", "error"},
		{"a,__name__=x", "", "error"},
	} {
		n, err := ParseName([]byte(tt.name), []byte(tt.tags))
		got := n.String()
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%q, %q: got %s (%v), want %s", tt.name, tt.tags, got, err, tt.want)
		}
	}
}
