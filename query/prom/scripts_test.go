package prom_test

import (
	"bufio"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/rondo-db/rondo/query/prom/promtest"
)

// s0 is the zero of the times in scripts: a multiple of every step that they have.
const s0 = 18 * 1001 * 86_400

// A script runs one of Prometheus' test scripts: what it loads goes into a store and into a storage
// of samples, which then must give the same answers to what it evaluates.
type script struct {
	*testing.T
	w       *world
	samples *promtest.Memory
	loaded  map[string]bool
	series  int
	step    int64  // of the load command whose series follow, in seconds; 0: none does
	skip    string // why the rest until the next clear is left out
	ran     int
	skipped map[string]int // evaluations, by reason
}

// wider are expressions over rows that are wider than what they look back to. A row is repeated up
// to the next one then, and so the answer is meant to be another.
var wider = []string{"-metric_a or -metric_b", "rate(metric[10s] smoothed)"}

var (
	loadLine    = regexp.MustCompile(`^load(_with_nhcb)?\s+(\S+)$`)
	instantLine = regexp.MustCompile(`^eval(?:_\w+)?\s+instant\s+(?:at\s+(\S+)\s+)?(.+)$`)
	rangeLine   = regexp.MustCompile(`^eval(?:_\w+)?\s+range\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)\s+(.+)$`)
)

// TestScriptsOfPrometheus runs the test scripts of Prometheus' engine. Native histograms, NaN and
// series without a name are nothing that a row can have: what a script evaluates after loading
// those is left out and counted. The values stand at whole rows, whose unknown ones end a series.
func TestScriptsOfPrometheus(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/prometheus/prometheus").Output()
	if err != nil {
		t.Fatalf("where is the module of Prometheus? %v", err)
	}
	names, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "promql/promqltest/testdata/*.test"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	enableAll(t)
	ran, skipped := 0, make(map[string]int)
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".test"), func(t *testing.T) {
			s := &script{T: t, skipped: skipped}
			s.clear()
			s.run(name)
			ran += s.ran
		})
	}
	for _, why := range slices.Sorted(maps.Keys(skipped)) {
		t.Logf("%d evaluations left out: %s", skipped[why], why)
	}
	t.Logf("%d evaluations compared", ran)
	if ran < 600 {
		t.Errorf("only %d evaluations", ran)
	}
}

// enableAll makes the parser take what is experimental, for the time of the test.
func enableAll(t *testing.T) {
	set := func(on bool) {
		parser.EnableExperimentalFunctions, parser.ExperimentalDurationExpr = on, on
		parser.EnableExtendedRangeSelectors, parser.EnableBinopFillModifiers = on, on
	}
	set(true)
	t.Cleanup(func() { set(false) })
}

func (s *script) clear() {
	s.w, s.samples, s.loaded, s.step, s.skip = nil, &promtest.Memory{}, make(map[string]bool), 0, ""
}

func (s *script) world() *world {
	if s.w == nil {
		s.w = newWorld(s.T)
		s.w.engine = asked(s.T)
	}
	return s.w
}

func (s *script) run(name string) {
	f, err := os.Open(name)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was read
	for in := bufio.NewScanner(f); in.Scan(); {
		line := in.Text()
		text := strings.TrimSpace(line)
		switch {
		case text == "" || text[0] == '#':
		case line[0] == ' ' || line[0] == '\t': // of load: a series; of eval: what Prometheus expects
			if s.step > 0 && s.skip == "" {
				s.load(text)
			}
		case text == "clear":
			s.clear()
		case strings.HasPrefix(text, "load"):
			s.begin(text)
		default:
			s.step = 0
			s.eval(text)
		}
	}
}

// begin takes the line of a load command.
func (s *script) begin(text string) {
	m := loadLine.FindStringSubmatch(text)
	if m == nil {
		s.Fatalf("what is %q?", text)
	}
	s.step = 1
	switch step := s.seconds(m[2]); {
	case m[1] != "":
		s.skip = "histograms of own buckets"
	case step != math.Trunc(step) || step < 1:
		s.skip = "samples at fractions of a second"
	default:
		s.step = int64(step)
	}
}

// load loads a series of a load command.
func (s *script) load(text string) {
	ls, values, err := parser.ParseSeriesDesc(text)
	if err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	switch {
	case ls.Get(model.MetricNameLabel) == "":
		s.skip = "a series without a name"
	case s.loaded[ls.String()]:
		s.skip = "a series that is loaded twice"
	}
	s.loaded[ls.String()] = true
	var rows []promtest.Sample
	stale := math.Float64frombits(value.StaleNaN)
	for i, v := range values {
		at := (s0 + int64(i)*s.step) * 1000
		known := !v.Omitted && !value.IsStaleNaN(v.Value)
		switch {
		case v.Histogram != nil:
			s.skip = "native histograms"
		case known && math.IsNaN(v.Value):
			s.skip = "a value that is NaN"
		case known && s.skip == "":
			s.samples.Add(ls, promtest.Sample{Time: at, Value: v.Value})
		case len(rows) > 0 && !math.IsNaN(rows[len(rows)-1].Value) && s.skip == "":
			s.samples.Add(ls, promtest.Sample{Time: at, Value: stale})
		}
		if !known {
			v.Value = math.NaN()
		}
		rows = append(rows, promtest.Sample{Time: at, Value: v.Value})
	}
	if s.skip == "" && len(rows) > 0 {
		s.series++
		s.world().keep("s/"+strconv.Itoa(s.series), ls, s.step*1000, rows)
	}
}

// seconds reads a time or a duration of a script.
func (s *script) seconds(text string) float64 {
	negative := strings.HasPrefix(text, "-")
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return f
	}
	d, err := model.ParseDuration(strings.TrimPrefix(text, "-"))
	if err != nil {
		s.Fatalf("%s: %v", text, err)
	}
	if negative {
		d = -d
	}
	return time.Duration(d).Seconds()
}

// eval compares the answers to what a script evaluates.
func (s *script) eval(text string) {
	var p period
	var expr string
	if m := rangeLine.FindStringSubmatch(text); m != nil {
		expr, p = m[4], period{s0 + int64(s.seconds(m[1])), s0 + int64(s.seconds(m[2])), int64(s.seconds(m[3]))}
	} else if m := instantLine.FindStringSubmatch(text); m != nil {
		at := s0
		if expr = m[2]; m[1] != "" {
			at += int(s.seconds(m[1]))
		}
		p = period{int64(at), int64(at), 0}
	} else {
		s.Fatalf("what is %q?", text)
	}
	why := s.skip
	if why == "" && slices.Contains(wider, expr) {
		why = "rows that are wider than the look-back or the range"
	}
	if why != "" {
		s.skipped[why]++
		return
	}
	s.ran++
	w := s.world()
	got, want := answers(w, s.samples, expr, p)
	if got != want {
		s.Errorf("%s over %v:\n%s", expr, p, firstDifference(got, want))
	}
}
