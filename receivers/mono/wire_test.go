package mono

import (
	"math"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

func TestNames(t *testing.T) {
	for _, test := range []struct {
		got  interface{ String() string }
		want string
	}{
		{JIT, "Mono JIT"},
		{Custom, "Mono Custom"},
		{Category(9), "category-9"},
		{Category(1 << 8), "category-256"},
		{Category(-1), "category--1"},
		{Word, "word"},
		{Type(4), "type-4"},
		{NoUnit, "none"},
		{Time, "100ns"},
		{Percentage, "percentage"},
		{Unit(1 << 24), "unit-16777216"},
		{Constant, "constant"},
		{Monotonic, "monotonic"},
		{Variable, "variable"},
		{Variance(0), "variance-0"},
		{Variance(4), "variance-4"},
		{NotFound, "not found"},
		{PageDialect, "page"},
		{AgentDialect, "agent"},
	} {
		if got := test.got.String(); got != test.want {
			t.Errorf("%#v is %q, want %q", test.got, got, test.want)
		}
	}
	for c := range Custom + 1 {
		if got, ok := ParseCategory(c.String()); !ok || got != c {
			t.Errorf("%v is parsed as %v, %t", c, got, ok)
		}
	}
	if _, ok := ParseCategory("category-9"); ok {
		t.Error("category-9 is known")
	}
	if _, err := ParseDialect("cockney"); err == nil {
		t.Error("no error for an unknown dialect")
	}
}

func TestTimeOf(t *testing.T) {
	for _, test := range []struct {
		ticks int64
		want  rra.Time // in microseconds
		ok    bool
	}{
		{638355968000000000, 1700000000e6, true}, // since year 1
		{638355968000000019, 1700000000e6 + 1, true},
		{621355967999999999, -1, true},
		{600000000000000000, (600000000000000000 - 621355968000000000) / 10, true},
		{700000000000000000, (700000000000000000 - 621355968000000000) / 10, true},
		{133444736000000000, 1700000000e6, true}, // since 1601
		{120000000000000000, (120000000000000000 - 116444736000000000) / 10, true},
		{200000000000000000, (200000000000000000 - 116444736000000000) / 10, true},
		{17000000000000000, 1700000000e6, true}, // since 1970
		{9000000000000000, 900000000e6, true},
		{50000000000000000, 5000000000e6, true},
		{599999999999999999, 0, false},
		{700000000000000001, 0, false},
		{119999999999999999, 0, false},
		{200000000000000001, 0, false},
		{8999999999999999, 0, false},
		{50000000000000001, 0, false},
		{0, 0, false},
		{123456789, 0, false}, // a monotonic clock
		{math.MinInt64, 0, false},
		{math.MaxInt64, 0, false},
	} {
		if got, ok := TimeOf(test.ticks); got != test.want || ok != test.ok {
			t.Errorf("%d ticks are %d, %t, want %d, %t", test.ticks, got, ok, test.want, test.ok)
		}
	}
	if got, ok := TimeOf(Ticks(1_700_000_000_123_456)); got != 1_700_000_000_123_456 || !ok {
		t.Errorf("there and back: %d, %t", got, ok)
	}
}

func TestPairCounter(t *testing.T) {
	for _, test := range []struct {
		p           Pair
		page, agent string
	}{
		{Pair{"Mono GC", "Heap"}, "Mono GC/Heap", "Mono GC/Heap"},
		{Pair{"Heap", "Mono GC"}, "Mono GC/Heap", "Mono GC/Heap"},
		{Pair{"Heap", "I/O"}, "I/O/Heap", "Heap/I/O"},
		{Pair{"Mono GC", "Mono JIT"}, "Mono JIT/Mono GC", "Mono GC/Mono JIT"},
	} {
		for d, want := range []string{test.page, test.agent} {
			category, name := test.p.Counter(Dialect(d))
			if got := category + "/" + name; got != want {
				t.Errorf("%v in dialect %v: %q, want %q", test.p, Dialect(d), got, want)
			}
		}
	}
}

// TestSeries: what the series of counters are called and made of.
func TestSeries(t *testing.T) {
	for _, test := range []struct {
		c      Counter
		path   string
		kind   rra.Kind
		labels string
	}{
		{Counter{GC, "Minor GC collections", Int, Events, Monotonic, 0}, "Mono GC/Minor GC collections", rra.Derive, "Mono GC Minor GC collections p#2 int events monotonic"},
		{Counter{JIT, "JIT time", Double, Time, Monotonic, 0}, "Mono JIT/JIT time", rra.DDerive, "Mono JIT JIT time p#2 double 100ns monotonic"},
		{Counter{Custom, "MyApp:a/b\x01\xff", Word, NoUnit, Variable, 0}, "Mono Custom/MyApp:a_b_\uFFFD~4863c7b683fefd2a", rra.Gauge, "Mono Custom MyApp:a/b\x01\uFFFD p#2 word none variable"},
		{Counter{9, "..", Long, 77, 9, 0}, "category-9/__~5b851a38eebde8fb", rra.Gauge, "category-9 .. p#2 long unit-77 variance-9"},
		{Counter{System, ".", Double, Config, Constant, 0}, "Mono System/_~c5c165de77572d6d", rra.Gauge, "Mono System . p#2 double config constant"},
	} {
		id := Identify("p#2", &test.c)
		if want := "mono/p#2/" + test.path; id.Path != want {
			t.Errorf("path %q, want %q", id.Path, want)
		}
		var names, values []string
		for _, l := range id.Labels {
			names, values = append(names, l.Name), append(values, l.Value)
		}
		if got := strings.Join(values, " "); got != test.labels || strings.Join(names, " ") != "category name peer type unit variance" {
			t.Errorf("labels %v, want %q", id.Labels, test.labels)
		}
		d := Define(&test.c, 1)
		if s := d.Sources[0]; len(d.Sources) != 1 || d.Step != 1 || s.Name != "value" || s.Kind != test.kind || s.Heartbeat != 60 || !math.IsNaN(s.Min) || !math.IsNaN(s.Max) {
			t.Errorf("%q: definition %+v", test.path, d)
		}
		if _, err := rra.Compile(d); err != nil {
			t.Errorf("%q: %v", test.path, err)
		}
		if !fits(d, &test.c) {
			t.Errorf("%q does not fit its own series", test.path)
		}
	}
	if d := Define(new(Counter), 300); d.Step != 300 || d.Sources[0].Heartbeat != 600 {
		t.Errorf("step 300: definition %+v", d)
	}
}

func TestFits(t *testing.T) {
	source := func(ks ...rra.Kind) *rra.Definition {
		d := new(rra.Definition)
		for _, k := range ks {
			d.Sources = append(d.Sources, rra.DataSource{Kind: k})
		}
		return d
	}
	long, double, gauge := &Counter{Type: Long, Variance: Monotonic}, &Counter{Type: Double, Variance: Monotonic}, &Counter{Type: Long, Variance: Constant}
	for _, test := range []struct {
		d    *rra.Definition
		c    *Counter
		want bool
	}{
		{source(rra.Derive), long, true},
		{source(rra.DDerive), long, true},
		{source(rra.Gauge), long, false},
		{source(rra.Derive), double, false},
		{source(rra.DDerive), double, true},
		{source(rra.Gauge), gauge, true},
		{source(rra.Derive), gauge, false},
		{source(rra.Gauge, rra.Compute), gauge, true},
		{source(rra.Gauge, rra.Gauge), gauge, false},
		{source(), gauge, false},
	} {
		if got := fits(test.d, test.c); got != test.want {
			t.Errorf("%v of %+v: %t, want %t", test.d.Sources, test.c, got, test.want)
		}
	}
}

// TestValues: what no double can be is unknown.
func TestValues(t *testing.T) {
	for _, test := range []struct {
		t    Type
		bits uint64
		want rra.Value
	}{
		{Int, 1<<64 - 5, rra.Int(-5)},
		{Long, 1 << 63, rra.Int(math.MinInt64)},
		{Word, 1<<53 + 1, rra.Int(1<<53 + 1)},
		{Double, math.Float64bits(0.25), rra.Float(0.25)},
		{Double, math.Float64bits(math.NaN()), rra.Unknown},
		{Double, math.Float64bits(math.Inf(-1)), rra.Unknown},
	} {
		r := Reading{Counter: Counter{Type: test.t}, Bits: test.bits, Known: true}
		if got := r.Value(); got != test.want {
			t.Errorf("%v %x is %v, want %v", test.t, test.bits, got, test.want)
		}
	}
	if got := new(Reading).Value(); got != rra.Unknown {
		t.Errorf("no value is %v", got)
	}
}

// TestConfigure: impossible flags are reported by their names.
func TestConfigure(t *testing.T) {
	for _, test := range []struct {
		flag receivers.Flag
		v    []string
		ok   bool
	}{
		{flagDialect, []string{"agent"}, true},
		{flagDialect, []string{"Agent"}, false},
		{flagStep, []string{"10"}, true},
		{flagStep, []string{"5m"}, true},
		{flagStep, []string{"0"}, false},
		{flagStep, []string{"1500ms"}, false},
		{flagStep, []string{"9999999999999"}, false},
		{flagStep, []string{"soon"}, false},
		{flagConns.Idle, []string{"0"}, true},
		{flagConns.Idle, []string{"-1s"}, false},
		{flagConns.Idle, []string{"x"}, false},
		{flagFile, []string{"testdata"}, false},
		{flagFile, []string{"testdata/nosuch"}, false},
		{flagConns.Conns, []string{"0"}, false},
		{flagConns.HostConns, []string{"many"}, false},
		{flagAdd, []string{"Mono GC/a/b", "x/y"}, true},
		{flagAdd, []string{"Mono GC"}, false},
		{flagAdd, []string{"/name"}, false},
		{flagAdd, []string{"Mono GC/"}, false},
		{flagAdd, []string{"Mono GC/" + strings.Repeat("x", MaxText+1)}, false},
	} {
		err := Protocol.Check(receivers.Config{Options: map[string][]string{test.flag.Name: test.v}})
		if (err == nil) != test.ok || err != nil && !strings.HasPrefix(err.Error(), "--"+test.flag.Name+": ") {
			t.Errorf("--%s %.50q: %v", test.flag.Name, test.v, err)
		}
	}
}
