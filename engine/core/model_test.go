package core_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The model is the store once more, dumb: the same rra.Machine, but every series
// by itself and every row it ever gave in a map. What the store keeps, where,
// and when it writes it, must not show.

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// A column is one data source of one stream.
type column struct{ stream, ds int32 }

// A modelSeries is one series: its state, and every row it ever gave.
type modelSeries struct {
	ref     core.Ref
	path    string
	labels  []core.Label
	m       *rra.Machine
	st      rra.State
	rows    map[column]map[int64]float64
	sources []*valueSource
	active  bool
	given   int // rows
}

func newModelSeries(def *rra.Definition, path string, start rra.Time) *modelSeries {
	m, err := rra.Compile(def)
	if err != nil {
		panic(err)
	}
	x := &modelSeries{path: path, m: m, st: m.NewState(start), rows: make(map[column]map[int64]float64), active: true}
	m.SmoothBy(x.st.W, rra.NameHash(path))
	return x
}

func (x *modelSeries) last() rra.Time { return x.m.LastUpdate(x.st.W) }

// A reading is one sample of the model.
type reading struct {
	x      *modelSeries
	at     rra.Time
	values []rra.Value
	texts  []string
}

var errShape = errors.New("wrong number of values")

// step folds a reading into x.
func (x *modelSeries) step(rd *reading) error {
	if len(rd.values) != x.m.Inputs() {
		return errShape
	}
	runs, err := x.m.Step(&x.st, rd.at, rd.values, rd.texts, nil)
	for _, r := range runs {
		c := column{r.Stream, r.DS}
		if keeps := x.m.Streams()[r.Stream].Rows; x.rows[c] == nil || r.Count >= keeps {
			x.rows[c] = make(map[int64]float64) // nothing before r can be asked for any more
		} else if int64(len(x.rows[c])) > 4*keeps+100 {
			maps.DeleteFunc(x.rows[c], func(k int64, _ float64) bool { return k < r.First-keeps })
		}
		x.given += int(r.Count)
		for k := r.First; k < r.First+r.Count; k++ {
			x.rows[c][k] = r.Value
		}
	}
	return err
}

// end is the end of an update command.
func (x *modelSeries) end(err error) {
	switch {
	case !x.m.Seasonal():
	case err != nil:
		x.m.AbortUpdate(&x.st)
	default:
		x.m.EndUpdate(&x.st)
	}
}

// append folds a reading of a batch.
func (x *modelSeries) append(rd *reading) error {
	err := x.step(rd)
	x.end(err)
	return err
}

// update folds readings of one update command; it returns how many were applied.
func (x *modelSeries) update(rds []*reading, skipPast, stopped bool) (n int, err error) {
	for _, rd := range rds {
		err = x.step(rd)
		var late *rra.TimeError
		if errors.As(err, &late) && skipPast {
			err = nil
			continue
		}
		if err != nil {
			break
		}
		n++
	}
	if stopped {
		x.end(errors.New("what comes behind is wrong"))
	} else {
		x.end(err)
	}
	return n, err
}

// fetch is what Store.Fetch must return.
func (x *modelSeries) fetch(archive int, start, end int64) (from, to int64, values []float64) {
	def := x.m.Definition()
	a := &def.Archives[archive]
	span := a.PDPs * def.Step
	from, to = floorDiv(start, span), -floorDiv(-end, span)
	last := floorDiv(x.last().Unix(), span)
	stream := x.m.StreamOf(archive)
	rings := make([][]float64, len(def.Sources))
	for j := range rings {
		if stream < 0 {
			rings[j] = x.m.RingRow(&x.st, archive, j, nil)
		}
	}
	for k := from + 1; k <= to; k++ {
		for j := range def.Sources {
			v := math.NaN()
			switch i := k - (last - int64(len(rings[j])) + 1); {
			case stream < 0 && i >= 0 && i < int64(len(rings[j])):
				v = rings[j][i]
			case stream >= 0 && k > last-a.Rows && k <= last:
				if got, ok := x.rows[column{int32(stream), int32(j)}][k]; ok {
					v = got
				}
			}
			values = append(values, v)
		}
	}
	return from * span, to * span, values
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// diffRows says where rows differ from what x must give, or nothing.
func (x *modelSeries) diffRows(archive int, start, end int64, got *core.Rows) string {
	from, to, want := x.fetch(archive, start, end)
	n := len(x.m.Definition().Sources)
	if got.Start != from || got.End != to || len(got.Values) != len(want) || len(got.DS) != n {
		return fmt.Sprintf("rows of (%d, %d], %d values of %v, want (%d, %d], %d values", got.Start, got.End, len(got.Values), got.DS, from, to, len(want))
	}
	for i, v := range want {
		if !sameFloat(got.Values[i], v) {
			return fmt.Sprintf("row at %d, source %d: %v, want %v (last update %d)",
				from+int64(i/n+1)*got.Step, i%n, got.Values[i], v, x.last().Unix())
		}
	}
	return ""
}

// A valueSource makes readings of one data source.
type valueSource struct {
	kind  rra.Kind
	style int
	count uint64
	texts bool
}

func newValueSource(r *rand.Rand, k rra.Kind) *valueSource {
	return &valueSource{
		kind: k, style: r.IntN(6), texts: r.IntN(4) == 0,
		count: pick(r, 0, r.Uint64N(1e6), 1<<32-r.Uint64N(1e5), math.MaxUint64-r.Uint64N(1e6), 1<<53+r.Uint64N(1000)),
	}
}

// next returns one reading; texts are appended to texts.
func (s *valueSource) next(r *rand.Rand, texts *[]string) rra.Value {
	switch r.IntN(200) {
	case 0, 1, 2:
		return rra.Unknown
	case 3:
		v, _ := rra.ParseValue(s.kind, pick(r, "007", "x", "1e", "-0", "nan", "12345678901234567890123456789012345", fmt.Sprintf("%090d", r.IntN(1e6))), texts)
		return v
	}
	var v rra.Value
	switch s.kind {
	case rra.Counter, rra.Derive:
		s.count += pick(r, 0, 1, r.Uint64N(10), r.Uint64N(1e6), r.Uint64N(1<<33))
		if r.IntN(50) == 0 {
			s.count = pick(r, 0, r.Uint64(), uint64(uint32(s.count)))
		}
		if v = rra.Uint(s.count); s.kind == rra.Derive && s.style == 0 {
			v = rra.Int(int64(s.count))
		}
	default:
		v = rra.Float(s.float(r))
	}
	if s.texts {
		if w, err := rra.ParseValue(s.kind, rra.FormatReading(v, nil), texts); err == nil {
			return w
		}
	}
	return v
}

func (s *valueSource) float(r *rand.Rand) float64 {
	switch s.style {
	case 0:
		return float64(r.IntN(100))
	case 1:
		return float64(r.IntN(1e6)) / 100
	case 2:
		return r.NormFloat64() * pick(r, 1, 100, 1e300, 1e-300)
	case 3:
		return 7.25
	case 4:
		s.count += r.Uint64N(1000)
		return float64(s.count)
	}
	return pick(r, 0, math.Copysign(0, -1), 1, -1, math.Inf(1), 1<<53, -(1<<53 - 1), 9007199254740.99, -90071992547409.9)
}
