package rows

import (
	"math"
	"math/rand/v2"
)

// The workload of issue "the store, end to end": hosts of 100 series, a quarter busy counters, a
// quarter constant or idle, a fifth integer gauges, a fifth two-decimal gauges, a tenth
// full-precision floats; step 10 s, each host with its own phase. Rows are computed as rrdtool
// computes them.
const (
	workloadStep   = 10
	workloadSeries = 100
)

type workloadKind int

const (
	busyCounter workloadKind = iota
	idleSeries
	integerGauge
	decimalGauge
	floatGauge
	workloadKinds
)

func (k workloadKind) String() string {
	return [...]string{"counter", "idle", "integer", "decimal", "float"}[k]
}

func kindOf(series int) workloadKind {
	switch i := series % workloadSeries; {
	case i < 25:
		return busyCounter
	case i < 50:
		return idleSeries
	case i < 70:
		return integerGauge
	case i < 90:
		return decimalGauge
	default:
		return floatGauge
	}
}

// readings returns n readings; of counters, the difference to the reading before.
func readings(r *rand.Rand, kind workloadKind, n int) []float64 {
	v := make([]float64, n)
	switch kind {
	case busyCounter:
		rate := math.Exp(math.Log(1e3) + r.Float64()*math.Log(1e3))
		for i := range v {
			rate = min(max(rate*math.Exp(r.NormFloat64()*0.05), 1e3), 1e6)
			v[i] = math.Round(rate * (1 + r.NormFloat64()*0.05))
		}
	case idleSeries:
		c := 0.0
		switch r.IntN(4) {
		case 0:
			c = float64(r.IntN(100))
		case 1:
			c = math.Round(r.Float64()*1e4) / 100
		}
		for i := range v {
			v[i] = c
		}
	case integerGauge:
		c := float64(r.IntN(10000))
		for i := range v {
			c = math.Abs(c + math.Round(r.NormFloat64()*8))
			v[i] = c
		}
	case decimalGauge:
		c := float64(r.IntN(10000))
		for i := range v {
			c = math.Abs(c + math.Round(r.NormFloat64()*30))
			v[i] = c / 100
		}
	case floatGauge:
		a, b := r.Float64()*100, r.Float64()*10
		for i := range v {
			v[i] = a + b*math.Sin(float64(i)/50) + r.NormFloat64()
		}
	}
	return v
}

// primary turns readings at the phase-th second of each step into n-1 primary data points.
func primary(v []float64, phase float64, counter bool) []float64 {
	out := make([]float64, len(v)-1)
	scratch := 0.0
	for i := range v {
		add := v[i] // a counter's difference
		if !counter {
			add = v[i] * workloadStep
		}
		before := workloadStep - phase
		if phase == 0 {
			before = workloadStep
		}
		pdp := (scratch + float64(add/workloadStep*before)) / workloadStep
		scratch = float64(add / workloadStep * phase)
		if i > 0 {
			out[i-1] = pdp
		}
	}
	return out
}

func averages(p []float64, n int) []float64 {
	out := make([]float64, 0, len(p)/n)
	for ; len(p) >= n; p = p[n:] {
		sum := 0.0
		for _, x := range p[:n] {
			sum += x
		}
		out = append(out, sum/float64(n))
	}
	return out
}

func maxima(p []float64, n int) []float64 {
	out := make([]float64, 0, len(p)/n)
	for ; len(p) >= n; p = p[n:] {
		x := p[0]
		for _, y := range p[1:n] {
			x = max(x, y)
		}
		out = append(out, x)
	}
	return out
}

// A workloadRow is one kind of rows the workload's archives hold.
type workloadRow struct {
	name  string
	pdps  int64
	phase bool // each host has its own; else all are sampled on the step
	make  func(p []float64) []float64
}

func workloadRows() []workloadRow {
	avg := func(n int) func([]float64) []float64 {
		return func(p []float64) []float64 { return averages(p, n) }
	}
	return []workloadRow{
		{"10s/phase=0", 1, false, avg(1)},
		{"10s", 1, true, avg(1)},
		{"1min-average", 6, true, avg(6)},
		{"1min-maximum", 6, true, func(p []float64) []float64 { return maxima(p, 6) }},
		{"10min-average", 60, true, avg(60)},
	}
}

// workload returns the rows of all series of a few hosts, rows a series.
func workload(w workloadRow, hosts, rows int) (series [][]float64, kinds []workloadKind) {
	for host := range hosts {
		r := rand.New(rand.NewPCG(uint64(host), 10))
		phase := 0.0
		if w.phase {
			phase = float64(r.IntN(workloadStep))
		}
		for i := range workloadSeries {
			kind := kindOf(i)
			v := readings(r, kind, rows*int(w.pdps)+1)
			series = append(series, w.make(primary(v, phase, kind == busyCounter)))
			kinds = append(kinds, kind)
		}
	}
	return series, kinds
}
