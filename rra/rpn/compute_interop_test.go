package rpn_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra/rpn"
)

const epoch = 1000000000

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// binaryFile reads the rows, oldest first, of a file with one archive: 128 bytes,
// 120 a data source and archive, last update, 112 a data source, 80 a data
// source, the current row, the rows.
func binaryFile(t *testing.T, name string, sources, rows int) [][]float64 {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := 128 + 120*sources + 120 + 16 + (112+80)*sources
	cur := int(binary.LittleEndian.Uint64(raw[at:]))
	out := make([][]float64, rows)
	for i := range out {
		for d := range sources {
			k := at + 8 + 8*((cur+1+i)%rows*sources+d)
			out[i] = append(out[i], math.Float64frombits(binary.LittleEndian.Uint64(raw[k:])))
		}
	}
	return out
}

func same(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// exactOps are the operators whose results have every bit of rrdtool's.
var exactOps = []string{
	"+", "-", "*", "/", "%", "SQRT", "FLOOR", "CEIL", "ABS", "RAD2DEG", "DEG2RAD", "LT", "LE", "GT", "GE", "EQ", "NE", "IF",
	"MIN", "MAX", "MINNAN", "MAXNAN", "ADDNAN", "LIMIT", "UN", "ISINF", "DUP", "POP", "EXC", "DEPTH",
}

// setOps take a count.
var setOps = []string{"SORT", "REV", "AVG", "MEDIAN", "STDEV", "SMIN", "SMAX", "PERCENT", "COPY", "INDEX"}

// looseOps are the functions of the mathematical library.
var looseOps = []string{"SIN", "COS", "ATAN", "ATAN2", "LOG", "EXP", "POW"}

// randomWords makes an expression that mostly works: it knows how deep the stack
// is, as long as no count comes from elsewhere.
func randomWords(r *rand.Rand, operands []string, ops []string, most int) []string {
	var words []string
	depth := 0
	size := 1 + r.IntN(most)
	for len(words) < size || depth > 1 && len(words) < most {
		o := ""
		if r.IntN(2) == 0 || len(words) >= size {
			o = ops[r.IntN(len(ops))]
		}
		need, give := arity(o)
		if depth < need && r.IntN(50) > 0 {
			o, need, give = "", 0, 1
		}
		switch {
		case o == "":
			words = append(words, operands[r.IntN(len(operands))])
		case slices.Contains(setOps, o):
			n := 1 + r.IntN(max(depth, 1))
			if r.IntN(30) == 0 && o != "PERCENT" {
				n = r.IntN(9)
			}
			if o == "PERCENT" {
				words = append(words, fmt.Sprint(50+r.IntN(51)))
			}
			words = append(words, fmt.Sprint(n), o)
			switch o {
			case "COPY":
				depth += n
			case "INDEX":
				depth++
			case "SORT", "REV":
			default:
				depth += 1 - n
			}
			continue
		default:
			words = append(words, o)
		}
		depth += give - need
	}
	return words
}

func arity(o string) (need, give int) {
	switch o {
	case "", "DEPTH":
		return 0, 1
	case "SQRT", "FLOOR", "CEIL", "ABS", "RAD2DEG", "DEG2RAD", "UN", "ISINF", "SIN", "COS", "ATAN", "LOG", "EXP":
		return 1, 1
	case "DUP":
		return 1, 2
	case "POP":
		return 1, 0
	case "EXC":
		return 2, 2
	case "IF", "LIMIT":
		return 3, 1
	}
	if slices.Contains(setOps, o) {
		return 1, 1
	}
	return 2, 1
}

// shaky reports whether rrdtool might hand out what lies below its stack: MEDIAN
// of nothing but unknown elements.
func shaky(words []string, row []float64) bool {
	return slices.Contains(words, "MEDIAN") && (slices.ContainsFunc(row, math.IsNaN) || slices.Contains(words, "UNKN"))
}

// TestComputeInterop runs random expressions as COMPUTE data sources and compares
// the bits that rrdtool stores.
func TestComputeInterop(t *testing.T) {
	r := seedtest.Rand(t)
	tool := rrdtooltest.Start(t)
	const rows = 24
	names := []string{"a", "b", "c"}
	operands := []string{"a", "b", "c", "a", "b", "c", "0", "1", "2", "-3", "1000", "UNKN", "INF", "NEGINF"}
	compared, failed := 0, 0
	for i := range 2 * seedtest.Programs(200, 1) {
		loose := r.IntN(5) == 0
		ops := append(exactOps, setOps...)
		words := randomWords(r, operands, ops, 17)
		if loose { // one at a time, or the error grows
			o := pick(r, looseOps...)
			need, _ := arity(o)
			words = append(slices.Repeat([]string{pick(r, operands[:6]...)}, need), o)
		}
		expr := strings.Join(words, ",")
		p, err := rpn.Compile(expr, names)
		if err == nil {
			err = p.CheckCompute()
		}
		name := fmt.Sprintf("c%d.rrd", i)
		_, failure := tool.Do("create", name, "--start", fmt.Sprint(epoch), "--step", "1", "DS:a:GAUGE:9:U:U", "DS:b:GAUGE:9:U:U", "DS:c:GAUGE:9:U:U",
			"DS:x:COMPUTE:"+expr, fmt.Sprintf("RRA:LAST:0.5:1:%d", rows))
		if (failure != "") != (err != nil) || err != nil && failure != "failed to parse computed data source" && failure != err.Error() {
			t.Errorf("%s: rondo says %v, rrdtool %q", expr, err, failure)
		}
		if err != nil {
			failed++
			continue
		}
		info, _ := tool.Do("info", name)
		if want := fmt.Sprintf("ds[x].cdef = %q\n", p.String()); !strings.Contains(info, want) {
			t.Errorf("%s: printed %q, rrdtool %s", expr, want, info)
		}
		command := []string{"update", name}
		for k := range rows {
			command = append(command, fmt.Sprintf("%d:%s:%s:%s", epoch+1+k, reading(r), reading(r), reading(r)))
		}
		_, failure = tool.Do(command...)
		out := binaryFile(t, filepath.Join(tool.Dir, name), 4, rows)
		_ = os.Remove(filepath.Join(tool.Dir, name))
		stack := make([]float64, p.StackSize())
		if failure != "" { // it ends at the first row
			failed++
			_, err := p.Run([]float64{1, 2, 3}, stack)
			if err == nil || errors.Is(err, rpn.ErrCount) {
				t.Errorf("%s: rondo says %v, rrdtool %q", expr, err, failure)
			} else if want := name + ": " + err.Error(); failure != want {
				t.Errorf("%s: rondo says %q, rrdtool %q", expr, want, failure)
			}
			continue
		}
		for _, row := range out {
			got, err := p.Run(row[:3], stack)
			if err != nil {
				t.Errorf("%s: %v", expr, err)
				break
			}
			if shaky(words, row) {
				continue
			}
			compared++
			if !same(got, row[3]) && !(loose && near(got, row[3])) {
				t.Errorf("%s: of %v got %v, rrdtool %v", expr, row[:3], got, row[3])
				break
			}
		}
	}
	t.Logf("%d values compared, %d expressions failed alike", compared, failed)
}

// near allows for another mathematical library.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) || math.Abs(a-b) < 1e-9
}

func reading(r *rand.Rand) string {
	switch r.IntN(8) {
	case 0:
		return pick(r, "U", "0", "1", "-1", "inf", "-inf")
	case 1:
		return fmt.Sprint(r.IntN(20) - 10)
	case 2:
		return fmt.Sprintf("%.17g", r.NormFloat64()*math.Pow(10, float64(r.IntN(20)-10)))
	}
	return fmt.Sprintf("%.*f", r.IntN(6), r.NormFloat64()*100)
}
