package rra_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// printedReading makes a text as C, Perl, Python and shell scripts print readings, and texts that
// are nearly such.
func printedReading(r *rand.Rand) string {
	f := pick(r, r.NormFloat64(), r.Float64(), float64(r.IntN(100)), math.Nextafter(1, 0)) * math.Pow(10, float64(r.IntN(44)-22))
	switch r.IntN(40) {
	case 0:
		f = 0
	case 1:
		f = math.Float64frombits(r.Uint64())
	case 2:
		f = math.Float64frombits(r.Uint64N(1 << 52)) // subnormal
	}
	switch r.IntN(12) {
	case 0:
		return fmt.Sprintf("%.*g", pick(r, 6, 15, 16, 17), f)
	case 1:
		return fmt.Sprintf("%.*f", r.IntN(20), f)
	case 2:
		return fmt.Sprintf("%.*e", pick(r, 0, 1, 6, 14, 15, 16, 17), f)
	case 3:
		return strconv.FormatFloat(f, 'f', -1, 64)
	case 4: // half way between two doubles, and beside
		return strconv.FormatFloat(f, 'f', -1, 64) + pick(r, "5", "50", "49", "51")
	case 5:
		return pick(r, "", "-", "0", "-0", "+", " ") + strconv.FormatFloat(math.Abs(f), 'g', -1, 64) + pick(r, "", "0", ".", " ")
	case 6: // where the sums of digits begin to be rounded
		s := strconv.FormatUint(pick[uint64](r, 1<<53, 1e15, 1e16, 1e17, 1<<57, 1<<63)+r.Uint64N(8)-4, 10)
		point := r.IntN(len(s) + 1)
		return s[:point] + "." + s[point:] + pick(r, "", "", "e+05")
	case 7:
		return strconv.FormatUint(r.Uint64()>>r.IntN(64), 10) + pick(r, "", "", "7", ".0", ".")
	case 8:
		s := digits(r, 1+r.IntN(24))
		return s[:1] + pick(r, "", ".") + s[1:] + pick(r, "e", "e", "E") + pick(r, "+", "-", "") + strconv.Itoa(r.IntN(110))
	case 9:
		return "0." + strings.Repeat("0", r.IntN(10)) + digits(r, 1+r.IntN(19))
	case 10:
		return pick(r, "0", "1", "0.0", "1.0", "0.000000") + pick(r, "e+00", "e-00", "e+01", "e+31", "e-32", "e+32", "e-33", "e+100")
	}
	return randomNumeral(r)
}

// TestReadingsAsPrinted: a reading has the number that ParseNumber reads from its whole text, and
// prints as the text again, whichever way its Value keeps it. Each way is met.
func TestReadingsAsPrinted(t *testing.T) {
	r := seedtest.Rand(t)
	met := map[rra.Tag]int{}
	for range 150_000 {
		text := printedReading(r)
		var kept []string
		k := pick(r, rra.Gauge, rra.Absolute, rra.DCounter, rra.DDerive)
		v, err := rra.ParseValue(k, text, &kept)
		met[v.Tag]++
		if got := rra.FormatReading(v, kept); got != text[:min(len(text), rra.LastReading)] {
			t.Fatalf("%q: printed as %q", text, got)
		}
		want, wrong := rra.ParseNumber(text)
		if strings.HasPrefix(text, "U") {
			want, wrong = math.NaN(), nil
		}
		if (err != nil) != (wrong != nil) {
			t.Fatalf("%q: %v, and ParseNumber says %v", text, err, wrong)
		}
		if err != nil {
			continue
		}
		if got := rra.NumericValue(k, v, kept); math.Float64bits(got) != math.Float64bits(want) {
			t.Fatalf("%q: number %v, want %v", text, got, want)
		}
	}
	for tag := rra.TagUnknown; tag <= rra.TagInvalid; tag++ {
		if met[tag] == 0 && tag != rra.TagUnknown {
			t.Errorf("no reading had the tag %d", tag)
		}
		t.Logf("tag %d: %d", tag, met[tag])
	}
}

// TestReadingsWithoutText: what senders print is kept without its text, which would be a piece of
// memory, an entry of a map and all of its bytes in the log for each reading.
func TestReadingsWithoutText(t *testing.T) {
	r := seedtest.Rand(t)
	for range 20_000 {
		f := pick(r, r.NormFloat64(), float64(r.IntN(1e6))) * math.Pow(10, float64(r.IntN(30)-15))
		for _, text := range []string{
			fmt.Sprintf("%.15g", f), fmt.Sprintf("%.17g", f), fmt.Sprintf("%g", f), fmt.Sprintf("%e", f), fmt.Sprintf("%.16e", f),
			strconv.FormatFloat(1+math.Abs(math.Mod(f, 1e12)), 'f', 3, 64), strconv.FormatUint(r.Uint64(), 10),
		} {
			var kept []string
			v, err := rra.ParseValue(rra.Gauge, text, &kept)
			if err != nil || v.Tag >= rra.TagText {
				t.Fatalf("%q: tag %d, %v", text, v.Tag, err)
			}
		}
	}
}

// TestDecimalsInPage makes the examples of docs/format-state.md.
func TestDecimalsInPage(t *testing.T) {
	page, err := os.ReadFile("../docs/format-state.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([0-9]) \\| `([0-9a-f]{16})` \\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 6 {
		t.Fatalf("the page has %d examples", len(rows))
	}
	for _, row := range rows {
		var kept []string
		v, err := rra.ParseValue(rra.Gauge, row[1], &kept)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%d %016x", v.Tag, v.Bits); got != row[2]+" "+row[3] {
			t.Errorf("%s is %s, the page has %s %s", row[1], got, row[2], row[3])
		}
	}
}

// TestAnyDecimalPrints: a Value may come from a damaged state or from a caller. Whatever its bits
// are, it has a number, and a text of bounded length.
func TestAnyDecimalPrints(t *testing.T) {
	r := seedtest.Rand(t)
	for i := range 20_000 {
		v := rra.Value{Bits: r.Uint64(), Tag: pick(r, rra.TagDecimal, rra.TagExponent)}
		if i < 256 { // the least and the highest digits, and places of each kind
			v.Bits = uint64(i%64) | pick[uint64](r, 0, 1<<63, 1<<63-64, math.MaxUint64-63)
		}
		text := rra.FormatReading(v, nil)
		if len(text) == 0 || len(text) > rra.LastReading {
			t.Fatalf("%+v prints as %q", v, text)
		}
		n := rra.NumericValue(rra.Gauge, v, nil)
		if want, err := rra.ParseNumber(text); len(text) < rra.LastReading && (err != nil || n != want) {
			t.Fatalf("%+v is %v, its text %q is %v, %v", v, n, text, want, err)
		}
	}
}

// TestDecimalsOfCounters: COUNTER and DERIVE refuse a decimal as they refuse its text, however it
// came.
func TestDecimalsOfCounters(t *testing.T) {
	for _, k := range []rra.Kind{rra.Counter, rra.Derive} {
		for _, text := range []string{"1.50", "2.5e+07"} {
			v, ok := rra.PlainReading(rra.Gauge, []byte(text))
			if !ok || v.Tag != rra.TagDecimal && v.Tag != rra.TagExponent {
				t.Fatalf("%q is %+v", text, v)
			}
			d, err := rra.ParseDefinition(10, []string{"DS:x:" + k.String() + ":100:U:U", "RRA:LAST:0.5:1:5"})
			if err != nil {
				t.Fatal(err)
			}
			m, err := rra.Compile(d)
			if err != nil {
				t.Fatal(err)
			}
			number, whole := rra.NewSeries(m, "a", rra.Seconds(1000)), rra.NewSeries(m, "a", rra.Seconds(1000))
			_, got := number.Update(rra.Seconds(1010), []rra.Value{v})
			_, want := whole.Update(rra.Seconds(1010), []rra.Value{rra.Text(0)}, text)
			if want == nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %q: error %v, of the text %v", k, text, got, want)
			}
		}
	}
}
