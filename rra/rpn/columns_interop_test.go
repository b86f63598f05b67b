package rpn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra/rpn"
)

// A testSeries is one variable: a file with one data source, and what it holds.
type testSeries struct {
	name string
	rpn.Series
}

// makeSeries fills a file from begin on; every value is stored as it is.
func makeSeries(t *testing.T, tool *rrdtooltest.Tool, r *rand.Rand, name string, begin, step int64, rows int) testSeries {
	t.Helper()
	s := testSeries{name: name, Series: rpn.Series{Start: begin, Step: step}}
	_, failure := tool.Do("create", name+".rrd", "--start", fmt.Sprint(begin), "--step", fmt.Sprint(step),
		fmt.Sprintf("DS:v:GAUGE:%d:U:U", 2*step), fmt.Sprintf("RRA:LAST:0.5:1:%d", rows))
	command := []string{"update", name + ".rrd"}
	for i := range rows {
		text := reading(r)
		v, n := rpn.ScanNumber(text)
		switch {
		case text == "U":
			v = math.NaN()
		case strings.Contains(text, "inf"):
			text, v = "7", 7 // infinity is for the expressions
		case n != len(text):
			t.Fatalf("%q", text)
		}
		// A value is stored after it was multiplied by the step and divided again.
		s.Values = append(s.Values, 0+v*float64(step)/float64(step))
		command = append(command, fmt.Sprintf("%d:%s", begin+int64(i+1)*step, text))
	}
	if failure == "" {
		_, failure = tool.Do(command...)
	}
	if failure != "" {
		t.Fatal(failure)
	}
	return s
}

// cut returns what rrdtool fetches from start to end, which are multiples of the
// step: one row more than that.
func (s testSeries) cut(start, end int64) rpn.Series {
	return rpn.Series{Start: start, Step: s.Step, Values: s.Values[(start-s.Start)/s.Step : (end-s.Start)/s.Step+1]}
}

var (
	rowStep  = regexp.MustCompile(`<step>(\d+)</step>`)
	rowValue = regexp.MustCompile(`<v>(.*?)</v>`)
)

// TestColumnsInterop runs random CDEFs through `rrdtool xport` and compares the
// printed digits.
func TestColumnsInterop(t *testing.T) {
	r := seedtest.Rand(t)
	tool := rrdtooltest.Start(t)
	const begin, rows = 999999000, 150 // a multiple of all steps
	names := []string{"a", "b", "c"}
	steps := map[string][3]int64{"one step": {10, 10, 10}, "10 and 30": {10, 10, 30}, "10 and 15": {10, 10, 15}}
	for title, step := range steps {
		t.Run(title, func(t *testing.T) {
			var series []testSeries
			for i, name := range names {
				series = append(series, makeSeries(t, tool, r, fmt.Sprintf("%s%d", name, step[2]), begin, step[i], rows))
			}
			compared, failed := 0, 0
			for range seedtest.Programs(120, 2) {
				expr := randomCDEF(r, title)
				start := begin + 30*int64(r.IntN(20))
				end := start + 30*int64(1+r.IntN(20))
				args := []string{"xport", "--start", fmt.Sprint(start), "--end", fmt.Sprint(end), "--step", "1"}
				var vars []rpn.Series
				for i, s := range series {
					args = append(args, fmt.Sprintf("DEF:%s=%s.rrd:v:LAST", names[i], s.name))
					vars = append(vars, s.cut(start, end))
				}
				args = append(args, "CDEF:z="+expr, "XPORT:z")
				out, failure := tool.Do(args...)
				p, err := rpn.Compile(expr, names)
				var got rpn.Series
				if err == nil {
					got, err = p.EvalColumns(vars, rpn.Options{})
				}
				if err != nil {
					failed++
					if failure != err.Error() {
						t.Errorf("%s: rondo says %v, rrdtool %q", expr, err, failure)
					}
					continue
				}
				compared += compareColumn(t, expr, got, out, failure)
			}
			t.Logf("%d values compared, %d expressions failed alike", compared, failed)
		})
	}
}

func compareColumn(t *testing.T, expr string, got rpn.Series, out, failure string) int {
	t.Helper()
	if failure != "" {
		t.Errorf("%s: rrdtool says %q", expr, failure)
		return 0
	}
	if s := rowStep.FindStringSubmatch(out); s[1] != fmt.Sprint(got.Step) {
		t.Errorf("%s: step %d, rrdtool %s", expr, got.Step, s[1])
	}
	values := rowValue.FindAllStringSubmatch(out, -1)
	if len(values) > len(got.Values) {
		t.Errorf("%s: %d rows, rrdtool %d", expr, len(got.Values), len(values))
		return 0
	}
	for i, v := range values {
		if g := got.Values[i]; g != skip && !isPrinted(g, v[1]) {
			t.Errorf("%s: row %d of %d is %s, rrdtool %s", expr, i, len(values), printed(g), v[1])
			break
		}
	}
	return len(values)
}

// isPrinted reports whether xport may print v so. It has its own way with a last
// digit that could go either way.
func isPrinted(v float64, text string) bool {
	if s := printed(v); s == text || s == strings.TrimPrefix(text, "-") && (v == 0 || math.IsNaN(v)) {
		return true
	}
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && math.Abs(f-v) <= 0.501e-10*math.Pow(10, math.Floor(math.Log10(math.Abs(v))))
}

// printed is a value as xport prints it; the sign of 0 and NaN is not compared.
func printed(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 0):
		return strings.TrimPrefix(strings.ToLower(fmt.Sprint(v)), "+")
	case v == 0:
		v = 0
	}
	return fmt.Sprintf("%.10e", v)
}

// randomCDEF makes an expression over a, b and c. c is coarser than the others
// in all but one title: rrdtool looks before its first row in windows.
func randomCDEF(r *rand.Rand, title string) string {
	operands := []string{"a", "b", "c", "a", "b", "c", "0", "1", "2.5", "-3", "1e3", "0.1", "UNKN", "INF", "TIME", "COUNT", "PREV", "STEPWIDTH", "LTIME", "NEWDAY"}
	fine := []string{"a", "b"}
	switch title {
	case "one step":
		fine = append(fine, "c")
	case "10 and 15":
		fine = nil
	}
	words := randomWords(r, operands, append(exactOps, "SORT", "REV", "AVG", "STDEV", "SMIN", "SMAX", "PERCENT", "COPY", "INDEX"), 15)
	if fine == nil {
		return strings.Join(words, ",")
	}
	for i, w := range words { // a window in place of some variables
		if !slices.Contains(fine, w) || r.IntN(3) > 0 {
			continue
		}
		seconds := func() string {
			return pick(r, fmt.Sprint(r.IntN(100)), fmt.Sprint(10*r.IntN(12)), fmt.Sprintf("%.1f", 100*r.Float64()), "-5")
		}
		shifts := seconds()
		if n := 1 + r.IntN(3); r.IntN(2) == 0 {
			shifts += fmt.Sprintf(",-%d", n)
		} else {
			shifts = strings.Join(slices.Repeat([]string{shifts, seconds()}, n)[:n], ",") + fmt.Sprintf(",%d", n)
		}
		words[i] = pick(r, "PREV("+w+")", w+","+seconds()+",TREND", w+","+seconds()+",TRENDNAN",
			shifts+","+seconds()+","+w+",PREDICT", shifts+","+seconds()+","+w+",PREDICTSIGMA",
			fmt.Sprintf("%s,%s,%d,%s,PREDICTPERC", shifts, seconds(), r.IntN(201)-100, w))
	}
	return strings.Join(words, ",")
}

// skip stands for a row that is not compared.
const skip = -1e300

// cutYearEnds takes out the rows between the turn of the year in UTC and in the
// local zone, where rrdtool is days off.
func cutYearEnds(s *rpn.Series, location *time.Location) {
	for i := range s.Values {
		at := time.Unix(s.Start+int64(i+1)*s.Step, 0)
		if at.UTC().Year() != at.In(location).Year() {
			s.Values[i] = skip
		}
	}
}

// TestCalendarInterop compares the operators that depend on the time zone.
func TestCalendarInterop(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Skip("no time zones: ", err)
		}
		t.Run(zone, func(t *testing.T) {
			tool := rrdtooltest.StartIn(t, zone)
			r := seedtest.Rand(t)
			for i, step := range []int64{1800, 3600, 5 * 3600, 86400, 9 * 86400, 40 * 86400} {
				begin := step * (1600000000 / step)
				s := makeSeries(t, tool, r, fmt.Sprintf("s%d", i), begin, step, 800)
				for _, word := range []string{"LTIME", "NEWDAY", "NEWWEEK", "NEWMONTH", "NEWYEAR"} {
					start := begin + step*int64(r.IntN(300))
					end := start + 399*step
					expr := "a,POP," + word + ",1,*"
					p, err := rpn.Compile(expr, []string{"a"})
					if err != nil {
						t.Fatal(err)
					}
					got, err := p.EvalColumns([]rpn.Series{s.cut(start, end)}, rpn.Options{Location: location})
					if err != nil {
						t.Fatal(err)
					}
					out, failure := tool.Do("xport", "--start", fmt.Sprint(start), "--end", fmt.Sprint(end), "--step", "1",
						"DEF:a="+s.name+".rrd:v:LAST", "CDEF:z="+expr, "XPORT:z")
					if word == "LTIME" {
						cutYearEnds(&got, location)
					}
					if n := compareColumn(t, expr, got, out, failure); n < 300 && !t.Failed() {
						t.Errorf("%s: only %d rows", expr, n)
					}
				}
			}
		})
	}
}
