package clustermodel

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/bench/internal/clusterbench"
)

// storedScale is what the processor times of the runs in testdata are multiplied by.
const storedScale = 0.73

// storedRuns are of a busy machine: `rondo-bench cluster --series 20000 --half-seconds 6 --json`.
func storedRuns(t *testing.T) (runs []clusterbench.Result) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "runs", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := ReadRun(f)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		runs = append(runs, r)
	}
	if len(runs) != 13 {
		t.Fatalf("%d runs, want 13", len(runs))
	}
	return runs
}

func storedTimes(t *testing.T) Times {
	t.Helper()
	times, err := Stored()
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// TestStoredTimesFollowFromRuns: the times of the program are those that the runs give.
func TestStoredTimesFollowFromRuns(t *testing.T) {
	times := storedTimes(t)
	again, err := times.Fit(storedRuns(t), storedScale)
	if err != nil {
		t.Fatal(err)
	}
	fits := 0
	for i, x := range again.List() {
		was := times.List()[i]
		if strings.Contains(x.How, "--fit") {
			fits++
		}
		if math.Abs(x.Value-was.Value) > 0.006*was.Value {
			t.Errorf("%s is %v, and the runs give %v", x.Name, was.Value, x.Value)
		}
	}
	if fits < 14 {
		t.Errorf("only %d times are fitted", fits)
	}
}

// TestRunsThatWereNotFitted leaves out each shape of a run, fits the others, and looks what
// processor time the times give for the shape that was left out.
func TestRunsThatWereNotFitted(t *testing.T) {
	runs := storedRuns(t)
	same := func(a, b *clusterbench.Result) bool {
		return a.Partitions == b.Partitions && a.Batch == b.Batch && a.Under == b.Under
	}
	var nodes, servers []float64
	for i := range runs {
		others := slices.DeleteFunc(slices.Clone(runs), func(x clusterbench.Result) bool { return same(&x, &runs[i]) })
		times, err := storedTimes(t).Fit(others, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []*clusterbench.Load{&runs[i].Full, &runs[i].Half} {
			n, s := times.CPU(&runs[i], l)
			million := float64(l.Samples) / 1e6
			nodes = append(nodes, math.Abs(n/(l.Nodes*million)-1))
			servers = append(servers, math.Abs(s/(l.Servers*million)-1))
		}
	}
	slices.Sort(nodes)
	slices.Sort(servers)
	last := len(nodes) - 1
	t.Logf("nodes: off by %.0f %% in the middle, %.0f %% at most; servers: %.0f %% and %.0f %%",
		nodes[last/2]*100, nodes[last]*100, servers[last/2]*100, servers[last]*100)
	if nodes[last/2] > 0.20 || servers[last/2] > 0.20 {
		t.Errorf("half of the runs are off by more than %.2f (nodes) and %.2f (servers), want 0.20", nodes[last/2], servers[last/2])
	}
}

// TestFitFindsTimes: runs that follow from known times give these.
func TestFitFindsTimes(t *testing.T) {
	want := storedTimes(t)
	want.set.applyRecord = 2e-6
	var runs []clusterbench.Result
	for _, r := range storedRuns(t) {
		parts := float64(partsOf(r.Partitions, r.Batch))
		for _, l := range []*clusterbench.Load{&r.Full, &r.Half} {
			n, s := want.CPU(&r, l)
			million := float64(l.Samples) / 1e6
			l.Nodes, l.Servers = n/million, s/million
		}
		n := float64(r.Catch.Samples)
		r.Catch.CPU = (n*want.set.applySample + n/float64(r.Batch)*parts*want.set.applyRecord + 0.2) / n * 1e6
		runs = append(runs, r)
	}
	got, err := want.Fit(runs, 1)
	if err != nil {
		t.Fatal(err)
	}
	fields, wanted := got.set.fields(), want.set.fields()
	for _, name := range []string{"take_part", "take_sample", "apply_record", "apply_sample", "node_idle", "server_message", "server_byte", "server_read", "server_idle"} {
		if a, b := *fields[name], *wanted[name]; math.Abs(a-b) > 0.02*b {
			t.Errorf("%s: found %v, want %v", name, a, b)
		}
	}
}

func TestFitRefuses(t *testing.T) {
	times, runs := storedTimes(t), storedRuns(t)
	if _, err := times.Fit(runs[:3], 1); err == nil {
		t.Error("three runs were fitted")
	}
	for _, scale := range []float64{0, -1, 11, math.NaN()} {
		if _, err := times.Fit(runs, scale); err == nil {
			t.Errorf("scale %v was taken", scale)
		}
	}
	for _, text := range []string{"", "{}", `{"partitions":3}`, "[1]"} {
		if _, err := ReadRun(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a run", text)
		}
	}
}

func TestLeastSquares(t *testing.T) {
	rows := [][]float64{{1, 1}, {1, 2}, {1, 3}}
	if x := leastSquares(rows, []float64{5, 7, 9}); math.Abs(x[0]-3) > 1e-9 || math.Abs(x[1]-2) > 1e-9 {
		t.Errorf("3 and 2 became %v", x)
	}
	// The best line falls: nothing may be below 0.
	if x := leastSquares(rows, []float64{3, 2, 1}); x[0] < 0 || x[1] < 0 || x[0] == 0 {
		t.Errorf("a falling line became %v", x)
	}
	// Two columns that are the same do not show their parts.
	if x := leastSquares([][]float64{{1, 1}, {2, 2}}, []float64{2, 4}); math.Abs(x[0]+x[1]-2) > 1e-9 {
		t.Errorf("equal columns became %v, which add up to %v, want 2", x, x[0]+x[1])
	}
}

func TestSplitStalls(t *testing.T) {
	took := slices.Repeat([]float64{0.001, 0.002}, 48)
	took = append(took, 0.5, 0.3, 0.4, 0.4)
	usual, stall, share := splitStalls(took)
	if math.Abs(usual-0.0015) > 1e-9 || math.Abs(stall-0.4) > 1e-9 || share != 0.04 {
		t.Errorf("usual %v, stalls of %v, a share of %v; want 0.0015, 0.4, 0.04", usual, stall, share)
	}
	if _, stall, share := splitStalls(took[:96]); stall != 0 || share != 0 {
		t.Errorf("stalls of %v, a share of %v, where none are", stall, share)
	}
}

func TestMeasureSyncs(t *testing.T) {
	dir := t.TempDir()
	times, err := storedTimes(t).MeasureSyncs(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if s := times.set.sync; !(s > 0) {
		t.Errorf("a sync takes %v", s)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if _, err := times.MeasureSyncs(t.Context(), filepath.Join(dir, "missing")); err == nil {
		t.Error("a folder that is missing was measured")
	}
}

func TestTimesFile(t *testing.T) {
	times := storedTimes(t)
	other, err := times.With([]byte(`[{"name":"sync","value":0.5}]`))
	if err != nil {
		t.Fatal(err)
	}
	if other.set.sync != 0.5 || other.set.slice != times.set.slice || times.set.sync == 0.5 {
		t.Errorf("sync %v and slice %v, before %v and %v", other.set.sync, other.set.slice, times.set.sync, times.set.slice)
	}
	for _, x := range other.List() {
		if (x.From == "given") != (x.Name == "sync") || x.What == "" || x.Unit == "" {
			t.Errorf("listed as %+v", x)
		}
	}
	for _, file := range []string{"", "{}", `[{"name":"sinc","value":1}]`, `[{"name":"sync","value":-1}]`, `[{"name":"sync","valu":1}]`} {
		if _, err := times.With([]byte(file)); err == nil {
			t.Errorf("%q was read", file)
		}
	}
	if _, err := (Times{}).With([]byte(`[{"name":"sync","value":1}]`)); err == nil {
		t.Error("one time was taken for all")
	}
}
