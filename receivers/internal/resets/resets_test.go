package resets_test

import (
	"math"
	"testing"

	"github.com/rondo-db/rondo/receivers/internal/resets"
	"github.com/rondo-db/rondo/rra"
)

func TestZero(t *testing.T) {
	nan := math.NaN()
	const second = 1_000_000
	for _, tt := range []struct {
		name    string
		last    resets.Counter
		at      rra.Time
		value   float64
		created rra.Time
		zero    rra.Time
		ok      bool
	}{
		{"it rises", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 6, 0, 0, false},
		{"it stays", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 5, 0, 0, false},
		{"it falls", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 4, 0, 10*second + 1, true},
		{"it falls, and says when it began", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 4, 15 * second, 10*second + 1, true},
		{"it has overtaken its old value", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 6, 15 * second, 10*second + 1, true},
		{"it began long ago", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 6, 9 * second, 0, false},
		{"it begins in the future", resets.Counter{At: 10 * second, Value: 5}, 20 * second, 6, 21 * second, 0, false},
		{"it is new", resets.Counter{At: 10 * second, Value: nan}, 20 * second, 6, 0, 0, false},
		{"it is new, and says when it began", resets.Counter{At: 10 * second, Value: nan}, 20 * second, 6, 15 * second, 15 * second, true},
		{"it is new, and began long ago", resets.Counter{At: 10 * second, Value: nan}, 20 * second, 6, 5 * second, 0, false},
		{"it begins with this sample", resets.Counter{At: 10 * second, Value: nan}, 20 * second, 0, 20 * second, 0, false},
		{"it ends", resets.Counter{At: 10 * second, Value: 5}, 20 * second, nan, 0, 0, false},
		{"the sample is late", resets.Counter{At: 10 * second, Value: 5}, 10 * second, 4, 0, 0, false},
		{"there is no room for a 0", resets.Counter{At: 10 * second, Value: 5}, 10*second + 1, 4, 0, 0, false},
	} {
		zero, ok := tt.last.Zero(tt.at, tt.value, tt.created)
		if ok != tt.ok || ok && zero != tt.zero {
			t.Errorf("%s: %v %v, want %v %v", tt.name, zero, ok, tt.zero, tt.ok)
		}
	}
}

// TestRates: with the readings that Zero puts in, rows hold what a counter has counted, whatever
// resets there were.
func TestRates(t *testing.T) {
	nan := math.NaN()
	m, err := rra.Compile(&rra.Definition{
		Step:     10,
		Sources:  []rra.DataSource{{Name: "value", Kind: rra.DDerive, Heartbeat: 30, Min: 0, Max: nan}},
		Archives: []rra.Archive{{CF: rra.Average, XFF: 0, PDPs: 1, Rows: 100}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := m.NewState(rra.Seconds(0))
	last := resets.Counter{Value: nan}
	var rows []float64
	step := func(at rra.Time, v float64) {
		t.Helper()
		runs, err := m.Step(&s, at, []rra.Value{rra.Float(v)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range m.Rows(runs) {
			rows = append(rows, r.Values...)
		}
	}
	for i, v := range []float64{900.5, 950.5, 30, 20, 20, 70.25} {
		at := rra.Seconds(10 * int64(i+1))
		if zero, ok := last.Zero(at, v, 0); ok {
			step(zero, 0)
		}
		step(at, v)
		last = resets.Counter{At: at, Value: v}
	}
	want := []float64{nan, 5, 3, 2, 0, 5.025}
	if len(rows) != len(want) {
		t.Fatalf("rows %v, want %v", rows, want)
	}
	for i := range rows {
		if math.IsNaN(rows[i]) != math.IsNaN(want[i]) || math.Abs(rows[i]-want[i]) > 1e-12 {
			t.Errorf("row %d is %v, want %v", i, rows[i], want[i])
		}
	}
}
