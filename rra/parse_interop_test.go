package rra_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// A stored definition is what a file of rrdtool says of itself.
type stored struct {
	version  int // of the file
	sources  []rra.DataSource
	archives []rra.Archive
}

// storedDefinition reads the definition out of a native file: 128 bytes, then
// 120 bytes a data source and an archive.
func storedDefinition(t *testing.T, name string) stored {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(raw[at:]) }
	float := func(at int) float64 { return math.Float64frombits(word(at)) }
	text := func(at int) string { s, _, _ := strings.Cut(string(raw[at:at+20]), "\x00"); return s }
	d := stored{version: int(raw[7] - '0')}
	at := 128
	for range word(24) {
		kind, err := rra.ParseKind(text(at + 20))
		if err != nil {
			t.Fatal(err)
		}
		s := rra.DataSource{Name: text(at), Kind: kind, Min: math.NaN(), Max: math.NaN()}
		if kind != rra.Compute {
			s.Heartbeat, s.Min, s.Max = int64(word(at+40)), float(at+48), float(at+56)
		}
		d.sources = append(d.sources, s)
		at += 120
	}
	for range word(32) {
		cf, err := rra.ParseCF(text(at))
		if err != nil {
			t.Fatal(err)
		}
		a := rra.Archive{CF: cf, Rows: int64(word(at + 24)), PDPs: int64(word(at + 32))}
		par := func(i int) int { return at + 40 + 8*i }
		switch cf {
		case rra.HWPredict, rra.MHWPredict:
			a.Alpha, a.Beta = float(par(1)), float(par(2))
		case rra.Seasonal, rra.DevSeasonal:
			a.Gamma, a.SmoothingWindow = float(par(1)), float(par(2))
		case rra.Failures:
			a.DeltaPos, a.DeltaNeg = float(par(1)), float(par(2))
			a.Window, a.Threshold = int(word(par(4))), int(word(par(5)))
		case rra.DevPredict:
		default:
			a.XFF = float(par(0))
		}
		a.Partner = -1
		if cf > rra.Last {
			a.Partner = int(int64(word(par(3))))
		}
		d.archives = append(d.archives, a)
		at += 120
	}
	return d
}

// difference says where a parsed definition and a stored one differ.
func (d stored) difference(got *rra.Definition) string {
	if len(got.Sources) != len(d.sources) || len(got.Archives) != len(d.archives) {
		return fmt.Sprintf("%d sources, %d archives; rrdtool %d, %d", len(got.Sources), len(got.Archives), len(d.sources), len(d.archives))
	}
	for i, want := range d.sources {
		g := got.Sources[i]
		g.Expr = ""
		if !sameText(g, want) {
			return fmt.Sprintf("source %d: %#v, rrdtool %#v", i, g, want)
		}
	}
	for i, want := range d.archives {
		g := got.Archives[i]
		if math.IsNaN(g.SmoothingWindow) {
			g.SmoothingWindow = 0.05 // not given
			if d.version < 4 {
				g.SmoothingWindow = want.SmoothingWindow // such files do not hold it
			}
		}
		if !sameText(g, want) {
			return fmt.Sprintf("archive %d: %#v, rrdtool %#v", i, g, want)
		}
	}
	return ""
}

// sameText compares by printed form, in which floats are exact and NaN is one.
func sameText(a, b any) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }

// randomArgs makes a definition out of usual parts.
func randomArgs(r *rand.Rand) []string {
	var args []string
	var names []string
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf("%s%d", pick(r, "a", "ds_", "X-", "abcdefghijklmnopqr"), i)
		if i > 0 && r.IntN(4) == 0 {
			args = append(args, "DS:"+name+":COMPUTE:"+randomExpr(r, names))
		} else {
			low, high := randomLimits(r)
			args = append(args, fmt.Sprintf("DS:%s:%s:%s:%s:%s", name,
				pick(r, "GAUGE", "COUNTER", "DERIVE", "ABSOLUTE", "DCOUNTER", "DDERIVE"),
				pick(r, "1", "600", "10m", "1h", "20s", "007", "1y", "3M"), low, high))
		}
		names = append(names, name)
	}
	for range 1 + r.IntN(4) {
		if r.IntN(3) > 0 {
			args = append(args, fmt.Sprintf("RRA:%s:%s:%s:%s", pick(r, "AVERAGE", "MIN", "MAX", "LAST"),
				pick(r, "0", "0.5", ".5", "0.999", "1e-1", "0.1e", "+0.3", " 0.7"),
				pick(r, "1", "6", "10s", "1m", "5m", "1h", "60"), pick(r, "1", "10", "100", "1h", "007")))
			continue
		}
		n := func() int { return 1 + r.IntN(20) }
		f := func() string { return pick(r, "0.1", "0.5", "0.0035", "1e-2", "0.9999") }
		switch r.IntN(5) {
		case 0:
			args = append(args, fmt.Sprintf("RRA:%sHWPREDICT:%d:%s:%s:%d%s", pick(r, "", "M"), 10+n(), f(), pick(r, f(), "0", "1"), n(),
				pick(r, "", "", fmt.Sprintf(":%d", 1+r.IntN(6)))))
		case 1:
			args = append(args, fmt.Sprintf("RRA:%sSEASONAL:%d:%s:%d%s", pick(r, "", "DEV"), n(), f(), 1+r.IntN(6),
				pick(r, "", ":smoothing-window="+pick(r, "0", "1", "0.25", "0.1", "0.30000000000000004"))))
		case 2:
			args = append(args, fmt.Sprintf("RRA:DEVPREDICT:%d:%d", n(), 1+r.IntN(6)))
		case 3:
			args = append(args, fmt.Sprintf("RRA:FAILURES:%d:%d:%d:%d", n(), r.IntN(10), r.IntN(30), 1+r.IntN(6)))
		case 4: // an ensemble with numbers
			i := len(args) - len(names)
			args = append(args, fmt.Sprintf("RRA:HWPREDICT:%d:%s:%s:%d:%d", 10+n(), f(), f(), n(), i+2),
				fmt.Sprintf("RRA:SEASONAL:%d:%s:%d", n(), f(), i+1), fmt.Sprintf("RRA:DEVSEASONAL:%d:%s:%d", n(), f(), i+1))
		}
	}
	if r.IntN(4) == 0 {
		r.Shuffle(len(args), func(i, j int) { args[i], args[j] = args[j], args[i] })
	}
	return args
}

func randomLimits(r *rand.Rand) (low, high string) {
	number := func() string {
		switch r.IntN(4) {
		case 0:
			return "U"
		case 1:
			return fmt.Sprintf("%d", r.IntN(2000)-1000)
		case 2:
			return fmt.Sprintf("%.*f", r.IntN(12), r.NormFloat64()*1000)
		}
		return fmt.Sprintf("%.*e", r.IntN(12), r.NormFloat64()*math.Pow(10, float64(r.IntN(40)-20)))
	}
	low, high = number(), number()
	a, _ := rra.ParseNumber(low)
	b, _ := rra.ParseNumber(high)
	if a > b {
		return high, low
	}
	return low, high
}

func randomExpr(r *rand.Rand, names []string) string {
	var words []string
	depth := 0
	for len(words) < 1+r.IntN(16) || depth != 1 {
		switch {
		case depth < 2 || r.IntN(3) == 0 && len(words) < 20:
			words = append(words, pick(r, names[r.IntN(len(names))], names[r.IntN(len(names))], fmt.Sprint(r.IntN(70000)-35000), "2", "UNKN", "INF", "1.5", "1e3"))
			depth++
		default:
			words = append(words, pick(r, "+", "-", "*", "/", "%", "MIN", "MAX", "ADDNAN", "LT", "EQ", "POW"))
			depth--
		}
	}
	return strings.Join(words, ",")
}

// mutate damages one argument.
func mutate(r *rand.Rand, args []string) []string {
	args = append([]string(nil), args...)
	i := r.IntN(len(args))
	switch r.IntN(9) {
	case 0:
		return append(args[:i], args[i+1:]...)
	case 1:
		return append(args, args[i])
	}
	s := args[i]
	fields := strings.Split(s, ":")
	k := r.IntN(len(fields))
	switch r.IntN(6) {
	case 0: // a field goes
		fields = append(fields[:k], fields[k+1:]...)
	case 1: // a field more
		fields = append(fields[:k+1], append([]string{pick(r, "", "1", "x", "0.5", "smoothing-window=0.5")}, fields[k+1:]...)...)
	case 2: // another value
		fields[k] = pick(r, "", "0", "-1", "1", "x", "U", "nan", "inf", "-inf", "1e5", "0x10", "1.5", "10s", "1w", "7s", "AVERAGE", "GAUGE", "COMPUTE",
			"HWPREDICT", "99999", "1x", " 1", "1 ", "+1", "smoothing-window=", "smoothing-window=2", "smoothing-window=x", "smoothing-window=0.1x", "0.5", "1sx", "s",
			"abcdefghijklmnopqrst", "a=b", "a=b[1]", "a=b[", "5", "28", "29", "1e", "-0", "1e-400", "1e1025", "123456789012345678901234567890", "12345678901234567890123456789")
	default: // characters
		f := []byte(fields[k])
		c := "0123456789.-+eEUxXsmhdwMy:= []_nai,fABC"[r.IntN(39)]
		switch at := r.IntN(len(f) + 1); {
		case at < len(f) && r.IntN(3) == 0:
			f = append(f[:at], f[at+1:]...)
		case at < len(f) && r.IntN(2) == 0:
			f[at] = c
		default:
			f = append(f[:at], append([]byte{c}, f[at:]...)...)
		}
		fields[k] = string(f)
	}
	args[i] = strings.Join(fields, ":")
	return args
}

// large finds counts and durations that might give rrdtool a large file.
var large = regexp.MustCompile(`RRA:\S*([0-9]{5,}|[0-9][dwMy])`)

// rowsOf says how large rrdtool's file would be.
func rowsOf(d *rra.Definition) int64 {
	var n int64
	if d != nil {
		for _, a := range d.Archives {
			n += a.Rows * int64(len(d.Sources))
		}
	}
	return n
}

// TestDefinitionInterop holds the parser against `rrdtool create`: the same
// definitions are taken, the same error is given, and what is stored is what was
// parsed. rondo refuses more, with a FieldError.
func TestDefinitionInterop(t *testing.T) {
	r := seedtest.Rand(t)
	tool := rrdtooltest.Start(t)
	var taken, refused, stricter int
	for i := range 15 * seedtest.Programs(100, 2) {
		step := pick(r, int64(1), 10, 10, 60, 300)
		args := randomArgs(r)
		for range max(r.IntN(4)-1, 0) {
			if len(args) > 0 {
				args = mutate(r, args)
			}
		}
		got, err := rra.ParseDefinition(step, args)
		var own *rra.FieldError
		if errors.As(err, &own) {
			stricter++
		}
		if rowsOf(got) > 1e6 || own != nil && large.MatchString(strings.Join(args, " ")) {
			continue // rrdtool would make a file of that size
		}
		if slices.ContainsFunc(args, func(s string) bool { return strings.HasPrefix(s, "-") }) {
			continue // an option
		}
		name := fmt.Sprintf("d%d.rrd", i)
		command := append([]string{"create", name, "--start", "1000000000", "--step", fmt.Sprint(step)}, args...)
		_, failure := tool.Do(command...)
		switch {
		case own != nil:
			// What follows a number that is too large may be wrong as well.
			if failure != "" && failure != "crash" && !strings.Contains(own.Err, "too l") {
				t.Errorf("%q: rondo says %v, rrdtool %q", args, err, failure)
			}
		case err != nil:
			refused++
			var refusal *rra.ParseError
			if !errors.As(err, &refusal) {
				t.Errorf("%q: %T", args, err)
			}
			if failure != err.Error() {
				t.Errorf("%q: got %q, rrdtool %q", args, err, failure)
			}
		case failure != "":
			t.Errorf("%q: taken, rrdtool says %q", args, failure)
		default:
			taken++
			if diff := storedDefinition(t, filepath.Join(tool.Dir, name)).difference(got); diff != "" {
				t.Errorf("%q: %s", args, diff)
			}
			again, err := rra.ParseDefinition(step, got.Args())
			if err != nil || !sameText(again, got) {
				t.Errorf("%q: printed %q, read back %+v, %v", args, got.Args(), again, err)
			}
		}
		_ = os.Remove(filepath.Join(tool.Dir, name))
		if t.Failed() && i > 300 {
			break
		}
	}
	t.Logf("%d taken, %d refused alike, %d refused by rondo alone", taken, refused, stricter)
}
