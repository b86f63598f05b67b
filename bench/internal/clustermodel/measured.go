package clustermodel

// A Measured is runs of `rondo-bench cluster` alone on a machine, as bench/README.md has them.
type Measured struct {
	Name    string
	Command string
	Config  Config

	Full, Half []Figure
}

// A Figure is what was measured of one load.
type Figure struct {
	What   string
	Runs   []float64
	Fitted bool // the times were chosen so that the model gives it
	of     func(*Result) float64
}

// Mean is the mean of the runs.
func (f *Figure) Mean() float64 {
	var sum float64
	for _, x := range f.Runs {
		sum += x
	}
	return sum / float64(len(f.Runs))
}

// The figures that runs have.
func rateOf(runs ...float64) Figure {
	return Figure{"samples a second", runs, false, func(r *Result) float64 { return r.Rate }}
}

func nodesOf(runs ...float64) Figure {
	return Figure{"CPU seconds a million, rondo", runs, false, func(r *Result) float64 { return r.Nodes }}
}

func p50Of(runs ...float64) Figure {
	return Figure{"acknowledged after, p50, s", middles(runs), false, func(r *Result) float64 { return r.AckP50 }}
}

func p99Of(runs ...float64) Figure {
	return Figure{"acknowledged after, p99, s", middles(runs), false, func(r *Result) float64 { return r.AckP99 }}
}

// middles returns the middles of the buckets of rondo-bench cluster, which prints their upper ends:
// they are an eighth of an octave wide.
func middles(ends []float64) (all []float64) {
	for _, x := range ends {
		all = append(all, x*(1-bucketWidth/2))
	}
	return all
}

// bucketWidth is the width of a bucket of enginebench.Histogram, as a part of its upper end. It is
// between 1/9 and 1/16.
const bucketWidth = 1.0 / 12

func fitted(f Figure) Figure {
	f.Fitted = true
	return f
}

// OneMachine is the cluster of `rondo-bench cluster` on a machine with so many cores.
func OneMachine(cores float64, partitions int) Config {
	return Config{
		Cores: cores, Machine: 1, Nodes: 3, Servers: 3, Partitions: partitions, Replicas: 2,
		Batch: 5000, Under: 64, Senders: 4, Seconds: 20, Seed: 1,
	}
}

// AllMeasured returns the runs that the model is compared with.
func AllMeasured() []Measured {
	return []Measured{
		{
			"16 partitions", "rondo-bench cluster --series 20000 --minutes 120", OneMachine(2, 16),
			[]Figure{fitted(rateOf(2.1e6)), fitted(nodesOf(0.56)), fitted(p50Of(0.151)), fitted(p99Of(0.268))},
			[]Figure{fitted(p50Of(0.063)), fitted(p99Of(0.134))},
		},
		{
			"3 partitions", "rondo-bench cluster --series 20000 --minutes 120 --partitions 3", OneMachine(2, 3),
			[]Figure{rateOf(3.3e6, 3.7e6), nodesOf(0.39, 0.35), p50Of(0.084, 0.092), p99Of(0.134, 0.151)},
			[]Figure{p50Of(0.019, 0.021), p99Of(0.059, 0.076)},
		},
	}
}

// A Difference is a figure that was measured, and the model's.
type Difference struct {
	Load string
	Figure
	Model float64
}

// Off is by which part of what was measured the model is off.
func (d *Difference) Off() float64 { return d.Model/d.Mean() - 1 }

// Compare simulates runs that were measured. At half load the senders send half of the rate that
// was measured.
func Compare(m *Measured, t Times) (all []Difference, err error) {
	r, err := Run(m.Config, t)
	if err != nil {
		return nil, err
	}
	half := m.Config
	half.Rate = m.Full[0].Mean() / 2
	h, err := Run(half, t)
	if err != nil {
		return nil, err
	}
	for _, f := range m.Full {
		all = append(all, Difference{"full", f, f.of(&r)})
	}
	for _, f := range m.Half {
		all = append(all, Difference{"half", f, f.of(&h)})
	}
	return all, nil
}
