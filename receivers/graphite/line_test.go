package graphite_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers/graphite"
)

// parse is ParseLine's result as a text.
func parse(line string) string {
	p, err := graphite.ParseLine([]byte(line), 99)
	if err != nil {
		return err.Reason.String()
	}
	return fmt.Sprintf("%s=%v@%d", p.Name, p.Value, p.Time)
}

// reference is a second, slow ParseLine.
func reference(line string) string {
	if len(line) > graphite.MaxLine {
		return "limit"
	}
	fs := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\n\v\f\r", r) })
	if len(fs) != 3 {
		return "malformed"
	}
	if len(fs[0]) > graphite.MaxName {
		return "limit"
	}
	number := func(s string) (float64, bool) {
		if strings.ContainsAny(s, "xXpP_") || len(s) > 512 {
			return 0, false
		}
		v, err := strconv.ParseFloat(s, 64)
		return v, err == nil || math.IsInf(v, 0)
	}
	v, ok := number(fs[1])
	if !ok {
		return "malformed"
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "state"
	}
	at, ok := number(fs[2])
	switch {
	case fs[2] == "N" || at == -1:
		at = 99
	case !ok || !(math.Abs(at) <= 1<<40):
		return "malformed"
	}
	return fmt.Sprintf("%s=%v@%d", fs[0], v, int64(at))
}

// TestParseLine: lines as carbon reads them.
func TestParseLine(t *testing.T) {
	for line, want := range map[string]string{
		"a.b 1 1700000000":                  "a.b=1@1700000000",
		"a.b 1 1700000000\r":                "a.b=1@1700000000",
		" a.b\t 1.5e3   1700000000.9 ":      "a.b=1500@1700000000",
		"a;x=y -0.25 -1":                    "a;x=y=-0.25@99",
		"a 1 N":                             "a=1@99",
		"a 1 -1.0":                          "a=1@99",
		"a +.5 1":                           "a=0.5@1",
		"a 5. 1":                            "a=5@1",
		"a 9007199254740993 1":              "a=9.007199254740992e+15@1",
		"a 0.1 1":                           "a=0.1@1",
		"a 123456789012345.678 1":           "a=1.2345678901234567e+14@1",
		"a nan 1":                           "state",
		"a -inf 1":                          "state",
		"a 1e999 1":                         "state",
		"a 1_0 1":                           "malformed",
		"a 0x10 1":                          "malformed",
		"a . 1":                             "malformed",
		"a - 1":                             "malformed",
		"a 1":                               "malformed",
		"a 1 2 3":                           "malformed",
		"":                                  "malformed",
		"a 1 99999999999999":                "malformed",
		strings.Repeat("a", 2049) + " 1 1":  "limit",
		"a 1 1" + strings.Repeat(" ", 8200): "limit",
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
	for _, line := range []string{"a.b 1 1700000000", "a\t-1.5e-3 N", "a 1.7976931348623157e308 -1", "a nan 1.5", "a 0.30000000000000004 1e9"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if got, want := parse(line), reference(line); got != want {
			t.Errorf("%q: got %s, want %s", line, got, want)
		}
	})
}
