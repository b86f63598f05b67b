package statsd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// newTest returns an aggregator at second 100, with flags as --NAME VALUE.
func newTest(t testing.TB, options ...string) *aggregator {
	t.Helper()
	cfg := receivers.Config{Options: make(map[string][]string)}
	for i := 0; i < len(options); i += 2 {
		cfg.Options[options[i]] = []string{options[i+1]}
	}
	set, err := configure(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return newAggregator(set, 100)
}

// add adds lines with spaces between them.
func (a *aggregator) lines(t testing.TB, now int64, lines string) {
	t.Helper()
	for line := range strings.FieldsSeq(lines) {
		var wrong error
		err := ParseLine([]byte(line), func(r Reading) {
			if err := a.add(&r, now, func() string { return "me" }); err != nil {
				wrong = err
			}
		})
		if err != nil || wrong != nil {
			t.Fatalf("%s: %v, %v", line, err, wrong)
		}
	}
}

// text is what a flush returns, as a text.
func text(samples []sample) string {
	var words []string
	for _, x := range samples {
		var values []string
		for _, v := range x.values {
			value := "U"
			if v.Tag != rra.TagUnknown {
				value = fmt.Sprint(math.Float64frombits(v.Bits))
			}
			values = append(values, value)
		}
		words = append(words, fmt.Sprintf("%s@%d=%s", strings.TrimPrefix(x.m.id.Path, prefix+"/"), x.at.Unix(), strings.Join(values, ",")))
	}
	return strings.Join(words, " ")
}

// TestFlush: what each kind of metric becomes, flush by flush.
func TestFlush(t *testing.T) {
	type step struct {
		lines, want string
		last        bool
	}
	for name, tt := range map[string]struct {
		options []string
		steps   []step
	}{
		"counters": {nil, []step{
			{"a:1|c a:2|c|@0.1 a:-1|c", "counters/a@100=0 counters/a@110=20", false},
			{"", "counters/a@120=0", false},
			{"a:5|c", "counters/a@130=5", false},
		}},
		"tags in any order are one metric": {nil, []step{
			{"a:1|c|#x:1,y:2 a,y=2,x=1:2|c", "counters/a;x=1;y=2@100=0 counters/a;x=1;y=2@110=3", false},
		}},
		"gauges": {nil, []step{
			{"a:5|g a:+2|g a:-1.5|g b:-3|g", "gauges/a@110=5.5 gauges/b@110=-3", false},
			{"a:+1|g", "gauges/a@120=6.5 gauges/b@120=-3", false},
			{"", "gauges/a@130=6.5 gauges/b@130=-3", false},
		}},
		"sets": {nil, []step{{"a:x|s a:y|s a:x|s", "sets/a@110=2", false}, {"", "sets/a@120=0", false}}},
		"timers": {[]string{"statsd-percentiles", "10,50,90,99.9"}, []step{
			{"a:1|ms a:2:3|h a:4|d", "timers/a@100=0,0,U,U,U,U,U,U,U,U,U timers/a@110=4,10,2.5,1,4," + fmt.Sprint(math.Sqrt(1.25)) + ",2.5,U,2,4,4", false},
			{"a:7|ms|@0.5", "timers/a@120=2,14,7,7,7,0,7,U,7,7,7", false},
			{"", "timers/a@130=0,0,U,U,U,U,U,U,U,U,U", false},
		}},
		"kinds do not mix": {[]string{"statsd-percentiles", ","}, []step{
			{"a:1|c a:1|g a:1|s", "counters/a@100=0 counters/a@110=1 gauges/a@110=1 sets/a@110=1", false},
		}},
		"idle metrics are deleted": {[]string{"statsd-delete-idle", "true"}, []step{
			{"a:1|c b:2|g c:x|s", "counters/a@100=0 counters/a@110=1 gauges/b@110=2 sets/c@110=1", false},
			{"", "", false},
			{"a:3|c b:+1|g", "counters/a@120=0 counters/a@130=3 gauges/b@130=3", false},
		}},
		"idle gauges are deleted": {[]string{"statsd-delete-gauges", "true"}, []step{
			{"a:1|c b:2|g", "counters/a@100=0 counters/a@110=1 gauges/b@110=2", false},
			{"", "counters/a@120=0", false},
			{"b:+1|g", "counters/a@130=0 gauges/b@130=1", false},
		}},
		"silent metrics are forgotten": {[]string{"statsd-forget", "20"}, []step{
			{"a:1|c b:2|g", "counters/a@100=0 counters/a@110=1 gauges/b@110=2", false},
			{"b:1|g", "counters/a@120=0 gauges/b@120=1", false},
			{"", "gauges/b@130=1", false},
			{"a:1|c", "counters/a@130=0 counters/a@140=1", false},
		}},
		"the end stores what has arrived and nothing else": {nil, []step{
			{"a:1|c b:2|g", "counters/a@100=0 counters/a@110=1 gauges/b@110=2", false},
			{"a:4|c", "counters/a@120=4", true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newTest(t, tt.options...)
			for i, s := range tt.steps {
				at := int64(110 + 10*i)
				a.lines(t, at-9, s.lines)
				if diff := cmp.Diff(s.want, text(a.flush(at, s.last))); diff != "" {
					t.Errorf("flush at %d (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}

// TestForgottenTakesNoMemory: names that do not arrive any more leave nothing behind, and
// there are no more names than the limit.
func TestForgottenTakesNoMemory(t *testing.T) {
	a := newTest(t, "statsd-forget", "10")
	a.most = 100
	full := 0
	for i := range 150 {
		r := Reading{Name: fmt.Appendf(nil, "n%d", i), Rate: 1}
		if err := a.add(&r, 105, func() string { return "me" }); err != nil {
			if receivers.ReasonOf(err) != receivers.Limit {
				t.Fatal(err)
			}
			full++
		}
	}
	if full != 50 {
		t.Errorf("%d names refused, want 50", full)
	}
	a.flush(110, false)
	a.flush(120, false)
	if len(a.all)+len(a.byKey)+len(a.byPath) != 0 {
		t.Errorf("%d metrics, %d names, %d paths are left", len(a.all), len(a.byKey), len(a.byPath))
	}
}

// TestRefusedTakesNoMemory: names whose series are refused are forgotten at the flush after, however
// long others are remembered.
func TestRefusedTakesNoMemory(t *testing.T) {
	a := newTest(t, "statsd-forget", "0")
	a.lines(t, 105, "a:1|c b:1|c")
	for _, x := range a.flush(110, false) {
		if x.m.id.Path == "statsd/counters/a" {
			x.m.Retry = 170 // refused
		} else {
			x.m.Ref = 1
		}
	}
	a.lines(t, 115, "a:1|c")
	if got := text(a.flush(120, false)); got != "counters/a@120=1 counters/b@120=0" {
		t.Error(got)
	}
	if got := text(a.flush(130, false)); got != "counters/b@130=0" || len(a.byKey) != 1 || len(a.byPath) != 1 || a.held > 2*metricBytes {
		t.Errorf("%s; %d names, %d paths, %d bytes are left", got, len(a.byKey), len(a.byPath), a.held)
	}
}

// TestMembersAreLimited: sets of all names together keep no more than so many members, and begin
// anew after a flush.
func TestMembersAreLimited(t *testing.T) {
	a := newTest(t)
	a.exact = maxMembers - 1
	a.lines(t, 105, "a:x|s")
	r := Reading{Name: []byte("a"), Type: Set, Member: []byte("y")}
	if err := a.add(&r, 105, nil); receivers.ReasonOf(err) != receivers.Limit {
		t.Errorf("a member too many: %v", err)
	}
	a.flush(110, false)
	a.lines(t, 115, "a:x|s a:y|s")
	if got := text(a.flush(120, false)); got != "sets/a@120=2" {
		t.Error(got)
	}
}

// TestSetSketch: a set of many members takes little memory, and its count errs little.
func TestSetSketch(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 100, exactMembers, exactMembers + 1, 20_000, 500_000} {
		var s set
		for range n {
			h := rnd.Uint64()
			s.add(h)
			s.add(h) // counts once
		}
		got := s.count()
		if n <= exactMembers && got != float64(n) || math.Abs(got-float64(n)) > 0.04*float64(n) {
			t.Errorf("%d members are counted as %v", n, got)
		}
		if len(s.exact) > exactMembers || len(s.sketch) > registers {
			t.Errorf("%d members take %d hashes and %d registers", n, len(s.exact), len(s.sketch))
		}
	}
}

// TestTimerOfMany: of more values than are kept, count, sum and bounds are exact and the median
// comes from a fair choice.
func TestTimerOfMany(t *testing.T) {
	var x timer
	const n = 100_000
	for i := range n {
		x.add(float64(i), 1, true)
	}
	if len(x.kept) != keptValues || x.count != n || x.sum != n*(n-1)/2 || x.lower != 0 || x.upper != n-1 {
		t.Errorf("%d values kept, count %v, sum %v, %v to %v", len(x.kept), x.count, x.sum, x.lower, x.upper)
	}
	slices.Sort(x.kept)
	if m := x.median(); math.Abs(m-n/2) > 0.1*n {
		t.Errorf("the median is %v", m)
	}
	x.clear()
	if cap(x.kept) != 0 || x.count != 0 {
		t.Errorf("%d values, count %v after it is cleared", cap(x.kept), x.count)
	}
	if x.add(1, 1, false); len(x.kept) != 0 || !math.IsNaN(x.median()) {
		t.Error("a value is kept without room")
	}
}

// TestSettings: what is wrong with a flag names the flag.
func TestSettings(t *testing.T) {
	for flag, values := range map[string][]string{
		"statsd-step":          {"0", "1.5"},
		"statsd-percentiles":   {"0", "100", "x", "50,50", strings.Repeat("1,", 3) + "2"},
		"statsd-delete-gauges": {"perhaps"},
		"statsd-delete-idle":   {"2"},
		"statsd-forget":        {"-1", "x"},
		"statsd-idle":          {"x"},
	} {
		for _, v := range values {
			_, err := configure(receivers.Config{Options: map[string][]string{flag: {v}}})
			if err == nil || !strings.Contains(err.Error(), "--"+flag) {
				t.Errorf("--%s %s: %v", flag, v, err)
			}
		}
	}
}
