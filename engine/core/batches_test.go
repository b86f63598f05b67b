package core_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// A machine makes the readings of series that are read together most of the time.
type machine struct {
	r     *rand.Rand
	refs  []core.Ref
	kinds []rra.Kind
	phase rra.Time
	count []uint64
}

// batch returns the readings of one step: in some order, some of them left out, late, doubled,
// unknown or of an odd time.
func (x *machine) batch(at rra.Time, sources int) []machineReading {
	var out []machineReading
	for i, ref := range x.refs {
		y := machineReading{ref: ref, at: at + x.phase}
		for range sources {
			y.values = append(y.values, x.value(i))
		}
		switch x.r.IntN(120) {
		case 0:
			continue
		case 1:
			y.at += rra.Time(x.r.IntN(20_000_000))
		case 2:
			out = append(out, y)
		case 3:
			y.values[0] = rra.Unknown
		}
		out = append(out, y)
	}
	if x.r.IntN(10) == 0 {
		x.r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	if x.r.IntN(40) == 0 {
		x.phase = rra.Time(x.r.IntN(10_000_000))
	}
	return out
}

// value returns the next reading of a series.
func (x *machine) value(i int) rra.Value {
	x.count[i] += x.r.Uint64N(1000)
	if x.kinds[i] != rra.Gauge && x.kinds[i] != rra.Absolute {
		if x.r.IntN(300) == 0 {
			x.count[i] = x.r.Uint64() >> x.r.IntN(60)
		}
		return rra.Uint(x.count[i])
	}
	switch x.r.IntN(12) {
	case 0:
		return rra.Int(int64(x.count[i] % 1000))
	case 1:
		v, _ := rra.ParseValue(x.kinds[i], fmt.Sprintf("%d.%02d", x.r.IntN(50), x.r.IntN(100)), nil)
		return v
	}
	return rra.Float(float64(x.count[i]%1000) / 4)
}

type machineReading struct {
	ref    core.Ref
	at     rra.Time
	values []rra.Value
}

// TestBatchesStepAsCommands gives the same readings to three stores: in batches, in batches with
// questions between, and one by one as update commands. States and rows must be the same, and what
// is refused.
func TestBatchesStepAsCommands(t *testing.T) {
	r := seedtest.Rand(t)
	for range 4 {
		sources := 1 + r.IntN(2)
		stores := make([]*core.Store, 3)
		for i := range stores {
			stores[i] = mustOpen(t, t.TempDir(), core.Options{NoBackground: true})
		}
		var hosts []*machine
		for h := range 5 {
			x := &machine{r: r, phase: rra.Time(r.IntN(10_000_000)), count: make([]uint64, 70)}
			for i := range x.count {
				d := machineDefinition(r, i, sources)
				x.kinds = append(x.kinds, d.Sources[0].Kind)
				for _, s := range stores {
					ref := mustCreateAt(t, s, fmt.Sprintf("h%d/s%d", h, i), d, programStart)
					if s == stores[0] {
						x.refs = append(x.refs, ref)
					}
				}
			}
			hosts = append(hosts, x)
		}
		for k := range 100 {
			for _, x := range hosts {
				x.step(t, stores, rra.Seconds(programStart+int64(k)*10), sources)
			}
		}
		want, err := stores[2].Digest(t.Context())
		mustClose(t, err)
		for i, s := range stores[:2] {
			if got, err := s.Digest(t.Context()); err != nil || !maps.Equal(got, want) {
				t.Fatalf("store %d: %v, %v; one by one: %v", i, got, err, want)
			}
		}
		for _, s := range stores {
			mustClose(t, s.Close())
		}
	}
}

// machineDefinition returns one of several definitions of one shape.
func machineDefinition(r *rand.Rand, i, sources int) *rra.Definition {
	d := &rra.Definition{Step: 10, Archives: []rra.Archive{
		{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 50, Partner: -1},
		{CF: rra.Average, XFF: 0.2, PDPs: 6, Rows: 40, Partner: -1},
		{CF: rra.Max, XFF: 0.5, PDPs: 6, Rows: 40, Partner: -1},
		{CF: rra.Min, XFF: 0.5, PDPs: 25, Rows: 20, Partner: -1},
		{CF: rra.Last, XFF: 0, PDPs: 3, Rows: 20, Partner: -1},
	}}
	if i%7 == 3 {
		d.Archives[1].XFF = 0.9
	}
	kind := []rra.Kind{rra.Gauge, rra.Counter, rra.Derive, rra.Absolute}[i/5%4]
	for j := range sources {
		s := rra.DataSource{Name: fmt.Sprint("v", j), Kind: kind, Heartbeat: 25, Min: math.NaN(), Max: math.NaN()}
		if r.IntN(5) == 0 {
			s.Min, s.Max = 0, 240
		}
		d.Sources = append(d.Sources, s)
	}
	return d
}

// step sends one batch of a host to each store.
func (x *machine) step(t *testing.T, stores []*core.Store, at rra.Time, sources int) {
	t.Helper()
	readings := x.batch(at, sources)
	var accepted [3]int
	for i, s := range stores {
		if i == 2 {
			for _, y := range readings {
				var b core.Batch
				b.Add(y.ref, y.at, y.values...)
				n, _ := s.Update(t.Context(), y.ref, &b) // what is refused is counted
				accepted[i] += n
			}
			continue
		}
		var b core.Batch
		for _, y := range readings {
			b.Add(y.ref, y.at, y.values...)
		}
		accepted[i] = len(readings)
		if err := s.Append(t.Context(), &b); err != nil {
			rejected := mustReject(t, err)
			accepted[i] = rejected.Accepted
		}
		if i == 1 {
			x.ask(t, s)
		}
	}
	if accepted[0] != accepted[2] || accepted[1] != accepted[2] {
		t.Fatalf("%d, %d and %d of %d readings were accepted", accepted[0], accepted[1], accepted[2], len(readings))
	}
}

// mustReject returns the samples that an Append has refused.
func mustReject(t *testing.T, err error) *core.RejectedError {
	t.Helper()
	rejected, ok := err.(*core.RejectedError)
	if !ok {
		t.Fatal(err)
	}
	return rejected
}

// ask reads some series, or stores all.
func (x *machine) ask(t *testing.T, s *core.Store) {
	t.Helper()
	var err error
	ref := x.refs[x.r.IntN(len(x.refs))]
	switch x.r.IntN(8) {
	case 0:
		_, err = s.Fetch(t.Context(), ref, x.r.IntN(5), programStart, programStart+2000)
	case 1:
		_, err = s.Info(ref)
	case 2:
		_, err = s.Last(ref)
	case 3:
		if x.r.IntN(10) == 0 {
			err = s.Checkpoint(t.Context())
		}
	}
	mustClose(t, err)
}
