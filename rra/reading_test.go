package rra_test

import (
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// readings are texts on and beside the short way.
var readings = []string{
	"", "U", "Ux", "u", "-U", "-", "0", "-0", "00", "1", "-1", "01", "-01", "123456789012345678", "1234567890123456789", "-999999999999999999",
	"18446744073709551615", "18446744073709551616", ".5", "5.", "0.5", "-0.5", "00.5", "0.0", "0.00", "1.0", "1.50", "12.34", "-12.34",
	"0.0001", "0.00012", "0.00001", "0.000012", "123456789012.345", "1234567890123.456", "0.123456789012345", "0.0001234567890123",
	"0.000123456789012345", "1.2.3", "1e5", "1e", "+1", " 1", "1 ", "nan", "inf", "-inf", "0x10", "9007199254740993", "999999999999.999",
	"1e-05", "1e+05", "0e+00", "0.00e+00", "-0e+00", "1.0e+00", "1e-00", "1.e+05", ".1e+05", "12e+05", "01e+05", "0.1e+05", "1E+05", "1e+5", "1e+005", "1e*05",
	"1e+31", "1e+32", "1e-32", "1e-33", "1.2345678901234567e-05", "1.23456789012345678e-05", "99999999999999999e+01", "0.30000000000000004", "99999999999999999.9",
	"0.1", "0.3", "100.01", "3.14159265358979", "10.000000000001", "20.5\x00", "1\xff",
}

func checkReading(t *testing.T, k rra.Kind, text string) {
	t.Helper()
	var got, want []string
	g := rra.ParseReading(k, []byte(text), &got)
	w, _ := rra.ParseValue(k, text, &want)
	if g != w || len(got) != len(want) || len(got) == 1 && got[0] != want[0] {
		t.Errorf("%v %q: got %v %q, want %v %q", k, text, g, got, w, want)
	}
}

var readingKinds = []rra.Kind{rra.Gauge, rra.Counter, rra.Derive, rra.Absolute, rra.DCounter, rra.DDerive, rra.Compute}

func TestParseReadingIsParseValue(t *testing.T) {
	for _, text := range readings {
		for _, k := range readingKinds {
			checkReading(t, k, text)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		const alphabet = "0000123456789.........-eU"
		text := make([]byte, 1+r.IntN(21))
		for i := range text {
			text[i] = alphabet[r.IntN(len(alphabet))]
			if r.IntN(3) > 0 {
				text[i] = '0' + byte(r.IntN(10))
			}
		}
		checkReading(t, readingKinds[r.IntN(len(readingKinds))], string(text))
	}
}

func TestParseReadingAllocatesNothing(t *testing.T) {
	texts := [][]byte{
		[]byte("12345"), []byte("-17.25"), []byte("0.001"), []byte("U"),
		[]byte("1.50"), []byte("0.30000000000000004"), []byte("-1.2345678901234567e-05"), []byte("9223372036854775807"),
	}
	if n := testing.AllocsPerRun(100, func() {
		for _, text := range texts {
			rra.ParseReading(rra.Gauge, text, nil)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParseReading(b *testing.B) {
	for _, text := range []string{"12345", "17.25", "0.123456789", "12.500000", "0.30000000000000004", "4.04e+08"} {
		b.Run("text="+text, func(b *testing.B) {
			in := []byte(text)
			for b.Loop() {
				rra.ParseReading(rra.Gauge, in, nil)
			}
		})
	}
}

// TestTextsGoWithTheirReadings: a state keeps texts for as long as a last reading is one, and no
// longer: whoever steps many series looks at those that have texts apart.
func TestTextsGoWithTheirReadings(t *testing.T) {
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:100:U:U", "DS:y:GAUGE:100:U:U", "RRA:LAST:0.5:1:5"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	s := rra.NewSeries(m, "a", rra.Seconds(1000))
	for i, tt := range []struct {
		x, y string
		want bool
	}{{"5.", "1", true}, {"2", "1", false}, {"2", "+3.5", true}, {"7.", "3", true}, {"", "3", false}, {"1", "3", false}} {
		var texts []string
		values := []rra.Value{rra.ParseReading(rra.Gauge, []byte(tt.x), &texts), rra.ParseReading(rra.Gauge, []byte(tt.y), &texts)}
		if tt.x == "" {
			values[0] = rra.Unknown
		}
		if _, err := s.Update(rra.Seconds(1010+int64(i)*10), values, texts...); err != nil {
			t.Fatal(err)
		}
		if got := s.State.Text != nil; got != tt.want {
			t.Errorf("after %q and %q: texts %q", tt.x, tt.y, s.State.Text)
		}
	}
}
