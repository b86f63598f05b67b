package rra_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

const epoch = 1000000000

// createOne makes a file with one data source of a kind and one LAST archive of
// so many rows, both of one second.
func createOne(t *testing.T, tool *rrdtooltest.Tool, k rra.Kind, rows int) {
	t.Helper()
	_, failure := tool.Do("create", "n.rrd", "--start", fmt.Sprint(epoch), "--step", "1",
		fmt.Sprintf("DS:v:%s:10:U:U", k), fmt.Sprintf("RRA:LAST:0.5:1:%d", rows))
	if failure != "" {
		t.Fatal(failure)
	}
}

// storedRows reads the rows of that file, oldest first, and its last reading.
func storedRows(t *testing.T, tool *rrdtooltest.Tool, rows int) ([]float64, string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(tool.Dir, "n.rrd"))
	if err != nil {
		t.Fatal(err)
	}
	const live = 128 + 120 + 120 + 16
	cur := int(binary.LittleEndian.Uint64(raw[live+112+80:]))
	out := make([]float64, rows)
	for i := range out {
		at := live + 112 + 80 + 8 + 8*((cur+1+i)%rows)
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(raw[at:]))
	}
	last, _, _ := strings.Cut(string(raw[live:live+30]), "\x00")
	return out, last
}

func sameValue(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func digits(r *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0' + byte(r.IntN(10))
	}
	return string(b)
}

// randomNumeral makes a text that parses as a number.
func randomNumeral(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return fmt.Sprintf("%.*g", 1+r.IntN(17), r.NormFloat64()*math.Pow(10, float64(r.IntN(30)-15)))
	case 1:
		return fmt.Sprintf("%.*f", r.IntN(10), r.NormFloat64()*1000)
	case 2:
		return pick(r, "nan", "NaN", "-nan", "nanny", "inf", "-INF", "Infinity", "-infx", "1e", "1e+", "1e-", ".5", "5.", "5.e3", "+5", " 5", "\t-5", "1E5", "0e1024", "1e1024",
			"1e-1021", "1e4294967297", "0", "-0", "-0.0", "U", "Ux", "UNKN")
	}
	s := pick(r, "", "", "", "-", "+") + digits(r, pick(r, 1, 2, 3, 5, 8, 12, 17, 20, 30, 60, 400))
	if r.IntN(3) > 0 {
		s += "." + digits(r, pick(r, 0, 1, 2, 3, 5, 8, 12, 17, 20, 30))
	}
	if r.IntN(3) == 0 {
		s += pick(r, "e", "E") + pick(r, "", "-", "+") + fmt.Sprint(r.IntN(pick(r, 5, 30, 300, 330)))
	}
	return s
}

// TestNumberInterop holds ParseValue against what rrdtool stores for GAUGE.
func TestNumberInterop(t *testing.T) {
	r := seedtest.Rand(t)
	tool := rrdtooltest.Start(t)
	const batch = 200
	n := 0
	for n < 20*seedtest.Programs(200, 1) && !t.Failed() {
		createOne(t, tool, rra.Gauge, batch)
		command := []string{"update", "n.rrd"}
		var texts []string
		for i := range batch {
			texts = append(texts, randomNumeral(r))
			command = append(command, fmt.Sprintf("%d:%s", epoch+1+i, texts[i]))
		}
		if _, failure := tool.Do(command...); failure != "" {
			t.Fatalf("%s", failure)
		}
		rows, last := storedRows(t, tool, batch)
		for i, text := range texts {
			n++
			var kept []string
			v, err := rra.ParseValue(rra.Gauge, text, &kept)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			got := rra.NumericValue(rra.Gauge, v, kept)
			if !sameValue(got, rows[i]) {
				t.Errorf("%q: got %v, rrdtool %v", text, got, rows[i])
			}
			want := text[:min(len(text), rra.LastReading)]
			if got := rra.FormatReading(v, kept); got != want {
				t.Errorf("%q: printed as %q", text, got)
			}
			if i == batch-1 && want != last {
				t.Errorf("%q: last reading %q, rrdtool %q", text, want, last)
			}
		}
	}
	t.Logf("%d numerals", n)
}

// TestRefusedInterop holds ParseValue's errors against rrdtool's.
func TestRefusedInterop(t *testing.T) {
	r := seedtest.Rand(t)
	tool := rrdtooltest.Start(t)
	kinds := []rra.Kind{rra.Gauge, rra.Counter, rra.Derive, rra.DCounter, rra.DDerive, rra.Absolute}
	refused := 0
	for range 4 * seedtest.Programs(200, 1) {
		k := pick(r, kinds...)
		text := randomNumeral(r)
		for range r.IntN(3) {
			i := r.IntN(len(text) + 1)
			text = text[:i] + pick(r, "x", "-", "+", ".", "e", " ", "0x", "1", "n", "U", "i", "_", "e9999") + text[i:]
		}
		if r.IntN(20) == 0 {
			text = ""
		}
		createOne(t, tool, k, 1)
		if _, failure := tool.Do("update", "n.rrd", fmt.Sprintf("%d:1", epoch+1)); failure != "" {
			t.Fatal(failure)
		}
		_, failure := tool.Do("update", "n.rrd", fmt.Sprintf("%d:%s", epoch+2, text))
		var kept []string
		v, err := rra.ParseValue(k, text, &kept)
		want := strings.TrimPrefix(failure, "n.rrd: ")
		got := ""
		if err != nil {
			got = err.Error()
			refused++
			if v.Tag != rra.TagInvalid || kept[v.Bits] != text {
				t.Errorf("%s %q: refused, but the value is %+v of %q", k, text, v, kept)
			}
		}
		if got != want {
			t.Errorf("%s %q: got %q, rrdtool %q", k, text, got, want)
		}
	}
	t.Logf("%d refused", refused)
}

// TestDifferenceInterop holds Difference against what rrdtool stores for DERIVE.
func TestDifferenceInterop(t *testing.T) {
	r := seedtest.Rand(t)
	tool := rrdtooltest.Start(t)
	const batch = 200
	n := 0
	for n < 15*seedtest.Programs(200, 1) && !t.Failed() {
		createOne(t, tool, rra.Derive, batch)
		command := []string{"update", "n.rrd"}
		var texts []string
		for i := range batch {
			s := pick(r, "", "", "", "-") + digits(r, pick(r, 1, 5, 10, 15, 17, 18, 19, 19, 20, 20, 21, 25, 28, 29, 30, 31))
			if i > 0 && r.IntN(3) == 0 { // near the one before
				s = texts[i-1]
				if len(s) > 1 && r.IntN(2) == 0 {
					s = s[:len(s)-1] + digits(r, 1)
				}
			} else if r.IntN(20) == 0 {
				s = pick(r, "U", "", "-", "0", "-0", "U7", "18446744073709551615", "-9223372036854775808", "9223372036854775807")
			}
			texts = append(texts, s)
			command = append(command, fmt.Sprintf("%d:%s", epoch+1+i, s))
		}
		if _, failure := tool.Do(command...); failure != "" {
			t.Fatalf("%s", failure)
		}
		rows, _ := storedRows(t, tool, batch)
		old, oldText := rra.Unknown, []string(nil)
		for i, text := range texts {
			n++
			var kept []string
			v, err := rra.ParseValue(rra.Derive, text, &kept)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			if got := rra.DifferenceValues(v, old, kept, oldText); !sameValue(got, rows[i]) {
				t.Errorf("%q after %q: got %v, rrdtool %v", text, rra.FormatReading(old, oldText), got, rows[i])
			}
			for j := range kept {
				kept[j] = kept[j][:min(len(kept[j]), rra.LastReading)]
			}
			old, oldText = v, kept
		}
	}
	t.Logf("%d differences", n)
}

var integer = regexp.MustCompile(`^(0|-?[1-9][0-9]*)$`)

// FuzzParseValue checks that a reading prints as the text it came from, and that
// canonical integers stay integers.
func FuzzParseValue(f *testing.F) {
	for _, s := range []string{
		"", "U", "UNKN", "0", "-0", "00", "1", "-1", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
		"-9223372036854775808", "-9223372036854775809", "0.1", "0.10", "123.456789", "1e5", "1e+21", "1.5e-09", "0.00001", "0.0001", "0.00010001", "nan", "inf", "-inf",
		"999999999999999.9", "123456789012345.6", "1234567.89012345", "0.000123456789012345", "4.9e-324", "1e308", "0.30000000000000004", "1e1024", "0e1024",
		"123456789012345678901234567890", "-.5", "5.", "1.e5",
	} {
		for k := range rra.Compute {
			f.Add(uint8(k), s)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		k := rra.Kind(kind % uint8(rra.Compute))
		var kept []string
		v, err := rra.ParseValue(k, text, &kept)
		if got := rra.FormatReading(v, kept); got != text[:min(len(text), rra.LastReading)] {
			t.Errorf("%s %q: printed as %q", k, text, got)
		}
		if err != nil {
			return
		}
		want, err := rra.ParseNumber(text)
		switch {
		case strings.HasPrefix(text, "U"):
			want = math.NaN()
		case err != nil && (k == rra.Counter || k == rra.Derive): // "", "-"
			want = math.NaN()
		case err != nil:
			t.Errorf("%s %q: taken, but %v", k, text, err)
		}
		if got := rra.NumericValue(k, v, kept); !sameValue(got, want) {
			t.Errorf("%s %q: got %v, want %v", k, text, got, want)
		}
		if integer.MatchString(text) && len(text) < 19 && (k != rra.Counter || text[0] != '-') && v.Tag != rra.TagInt {
			t.Errorf("%s %q: got %+v, want an integer", k, text, v)
		}
	})
}

// BenchmarkParseValue is the cost of a reading that arrives as text.
func BenchmarkParseValue(b *testing.B) {
	for _, test := range []struct {
		name string
		kind rra.Kind
		text string
	}{
		{"counter", rra.Counter, "18274659102"},
		{"integer", rra.Gauge, "42"},
		{"plain", rra.Gauge, "1234.56789"},
		{"exponent", rra.Gauge, "1.5e-09"},
		{"zeros", rra.Gauge, "12.500000"},
	} {
		b.Run("text="+test.name, func(b *testing.B) {
			b.ReportAllocs()
			var texts []string
			for b.Loop() {
				texts = texts[:0]
				if _, err := rra.ParseValue(test.kind, test.text, &texts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestFormatFloat checks that every double prints as a text that other programs,
// and where it can rrdtool, read as the same double.
func TestFormatFloat(t *testing.T) {
	r := seedtest.Rand(t)
	for range 20000 {
		f := math.Float64frombits(r.Uint64())
		if r.IntN(2) == 0 {
			f = r.NormFloat64() * math.Pow(10, float64(r.IntN(40)-20))
		}
		s := rra.FormatReading(rra.Float(f), nil)
		g, err := rra.ParseNumber(s)
		var back float64
		if _, e := fmt.Sscan(s, &back); e != nil || err != nil || !sameValue(g, f) && !sameValue(back, f) {
			t.Errorf("%v printed as %q, read as %v and %v: %v, %v", f, s, g, back, err, e)
		}
	}
	for _, test := range []struct {
		f    float64
		want string
	}{
		{1, "1"},
		{-2.5, "-2.5"},
		{0.1, "0.1"},
		{1e15, "1000000000000000"},
		{1e21, "1e+21"},
		{1e-5, "1e-05"},
		{1.0 / 3, "0.3333333333333333"},
		{math.Inf(-1), "-inf"},
		{math.Copysign(0, -1), "-0"},
		{math.NaN(), "nan"},
	} {
		if got := rra.FormatReading(rra.Float(test.f), nil); got != test.want {
			t.Errorf("%v printed as %q, want %q", test.f, got, test.want)
		}
	}
}
