package rra

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/seeds"
)

// A strideTrial steps the same readings twice: series of a table by a Stride, many readings of a
// series at once, and their copies one by one on the general path.
type strideTrial struct {
	r        *rand.Rand
	t        Table
	machines []*Machine // by series
	general  []State    // likewise: the copies
	slow     map[*Machine]*Machine
	wants    [][]Run // likewise: rows of the copies since the last call of settle
	s        Stride

	last  Time
	times []Time
	cells [][]uint64 // by series: of the times, by data source
	tags  [][]Tag    // likewise: of the newest readings

	fast, slowly, alone int // how often what should be tested was
}

// newStrideTrial makes series of p's definition and of another one of the same shape.
func newStrideTrial(t *testing.T, r *rand.Rand, p *trial) *strideTrial {
	other := *p.def
	other.Sources, other.Archives = slices.Clone(p.def.Sources), slices.Clone(p.def.Archives)
	for i := range other.Sources {
		other.Sources[i].Heartbeat *= 3
		if other.Sources[i].Kind != Compute && r.IntN(2) == 0 {
			other.Sources[i].Kind = []Kind{Gauge, Absolute, Counter}[r.IntN(3)]
		}
	}
	for i := range other.Archives {
		if r.IntN(2) == 0 {
			other.Archives[i].XFF /= 2
		}
	}
	x := &strideTrial{r: r, slow: make(map[*Machine]*Machine)}
	machines := []*Machine{compile(t, p.def), compile(t, &other)}
	for _, m := range machines {
		slow := *m
		slow.noStraight = true
		x.slow[m] = &slow
	}
	const series = 7
	x.t = Table{W: make([]uint64, machines[0].Words()*(series+2)), N: series + 2}
	x.last = Seconds(p.start)
	for i := range series {
		m := machines[i%2]
		st := m.NewState(x.last)
		x.last = Time(st.W[wordLast])
		x.t.Store(i, st.W)
		x.machines, x.general = append(x.machines, m), append(x.general, st)
	}
	x.wants, x.cells, x.tags = make([][]Run, series), make([][]uint64, series), make([][]Tag, series)
	return x
}

// take lets a reading of every series wait, if that can be, or gives it to all at once.
func (x *strideTrial) take(t *testing.T, at Time, values [][]Value) {
	m := x.machines[0]
	last := x.last
	if n := len(x.times); n > 0 {
		last = x.times[n-1]
	}
	var mo moment
	mo.make(m, uint64(last), at)
	waits := mo.ok && mo.sec >= mo.end
	for i, m := range x.machines {
		waits = waits && at-last <= m.Heartbeat() && m.Waits() && x.t.LastUpdate(i) == x.last && len(values[i]) == len(m.sources)
		for d := range values[i] {
			_, ok := m.Cell(d, &values[i][d])
			waits = waits && ok
		}
	}
	if !waits {
		x.settle(t)
	}
	for i, m := range x.machines {
		runs, err := x.slow[m].Step(&x.general[i], at, values[i], nil, nil)
		if !waits {
			x.single(t, i, at, values[i], runs, err)
			continue
		}
		if err != nil {
			t.Fatalf("a reading waits that is refused: %v", err)
		}
		x.wants[i] = append(x.wants[i], runs...)
		x.tags[i] = x.tags[i][:0]
		for d, v := range values[i] {
			bits, _ := m.Cell(d, &v)
			x.cells[i] = append(x.cells[i], bits)
			x.tags[i] = append(x.tags[i], v.Tag)
			if kind := m.sources[d].kind; v.Tag != TagFloat && kind != Counter && kind != Derive {
				x.t.KeepReading(i, d, v)
			}
		}
	}
	if !waits {
		x.last = x.t.LastUpdate(0)
		return
	}
	if x.times = append(x.times, at); len(x.times) == MaxStride || x.r.IntN(9) == 0 {
		x.settle(t)
	}
}

// single compares a step of a series by itself.
func (x *strideTrial) single(t *testing.T, i int, at Time, values []Value, want []Run, wantErr error) {
	m := x.machines[i]
	runs, ok := x.s.One(m, x.t, i, at, values, nil)
	var err error
	if !ok {
		st := State{W: make([]uint64, m.Words())}
		x.t.Load(i, st.W)
		runs, err = m.general(&st, at, values, nil, nil)
		x.t.Store(i, st.W)
	} else {
		x.alone++
	}
	x.same(t, i, at, runs, want)
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("the errors are %v and %v", err, wantErr)
	}
}

// settle steps all series through the readings that wait, and compares.
func (x *strideTrial) settle(t *testing.T) {
	n := len(x.times)
	if n == 0 {
		return
	}
	if !x.s.Begin(x.machines[0], x.last, x.times) {
		t.Fatalf("the times %v behind %d do not end one PDP each", x.times, x.last)
	}
	m := x.machines[0]
	cells := Cells{W: make([]float64, len(m.sources)*MaxStride*(len(x.machines)+1)), N: len(x.machines) + 1}
	for d := range m.sources {
		cells.Rows = append(cells.Rows, d*MaxStride)
	}
	var index []int32
	var tags []Tag
	for i, m := range x.machines {
		for at, bits := range x.cells[i] {
			cells.W[(cells.Rows[at%len(m.sources)]+at/len(m.sources))*cells.N+i] = math.Float64frombits(bits)
		}
		index, tags = append(index, int32(i)), append(tags, x.tags[i]...)
	}
	got := make([][]Run, len(index))
	fast, rows, slow := x.s.Step(x.t, cells, index, x.machines, tags)
	for j, i := range fast {
		for _, r := range rows {
			got[i] = append(got[i], Run{r.Stream, r.DS, r.K, 1, r.Values[j]})
		}
		for d := range m.sources {
			for j := range n {
				got[i] = append(got[i], Run{m.oneID, int32(d), int64(x.s.moments[j].k), 1, cells.W[(cells.Rows[d]+j)*cells.N+int(i)]})
			}
		}
		x.fast += n
	}
	for _, i := range slow {
		got[i] = slices.Clone(x.s.Slow(x.t, cells, int(i), x.machines[i], tags))
		x.slowly += n
	}
	for i := range x.machines {
		x.same(t, i, x.times[n-1], got[i], x.wants[i])
		x.wants[i], x.cells[i] = x.wants[i][:0], x.cells[i][:0]
	}
	x.last = x.times[n-1]
	x.times = x.times[:0]
}

// same compares the rows of a step, in any order, and the state of a series.
func (x *strideTrial) same(t *testing.T, i int, at Time, got, want []Run) {
	order := func(a, b Run) int {
		if a.Stream != b.Stream {
			return int(a.Stream - b.Stream)
		}
		if a.DS != b.DS {
			return int(a.DS - b.DS)
		}
		return int(a.First - b.First)
	}
	slices.SortFunc(got, order)
	want = slices.SortedFunc(slices.Values(want), order)
	w := make([]uint64, x.machines[i].Words())
	x.t.Load(i, w)
	if !sameRuns(got, want) || !slices.Equal(w, x.general[i].W) {
		t.Fatalf("series %d at %d, %v:\nstride  %v\n%x\ngeneral %v\n%x", i, at, x.machines[i].def, got, w, want, x.general[i].W)
	}
}

// TestStride holds steps through several readings against steps through each of them on the general
// path: rows and states must be the same to the bit.
func TestStride(t *testing.T) {
	r := seeds.Rand(t)
	fast, slowly, alone := 0, 0, 0
	for range 400 {
		p := newTrial(r, false)
		x := newStrideTrial(t, r, p)
		m := x.machines[0]
		var all [][]Value
		p.each(func(_ Time, values []Value, texts []string) {
			if len(texts) == 0 {
				all = append(all, slices.Clone(values))
			}
		})
		if !m.straight || m.one == 0 || len(all) == 0 {
			continue
		}
		kinds := r.IntN(3)
		at, phase := x.last.Unix()/m.step*m.step+m.step, r.Int64N(m.step)
		for k := range 200 {
			at += m.step
			var micro Time
			switch r.IntN(30) {
			case 0:
				at += m.step * r.Int64N(4)
			case 1:
				phase = r.Int64N(m.step)
			case 2:
				at -= m.step / 2
			case 3:
				micro = Time(r.IntN(1_000_000))
			}
			values := make([][]Value, len(x.machines))
			for i, m := range x.machines {
				values[i] = slices.Clone(all[(k+i/2)%len(all)])
				if kinds > 0 {
					for d := range values[i] {
						values[i][d] = plainReading(r, kinds, k, m.sources[d].kind)
					}
				}
			}
			x.take(t, Seconds(at+phase)+micro, values)
		}
		x.settle(t)
		fast, slowly, alone = fast+x.fast, slowly+x.slowly, alone+x.alone
	}
	t.Logf("%d readings went the fast way, %d the slow one, %d alone", fast, slowly, alone)
	if fast < 10_000 || slowly < 10_000 || alone < 5_000 {
		t.Error("too few")
	}
}

// plainReading returns a reading as most senders have them; of kinds above 1 some are special.
func plainReading(r *rand.Rand, kinds, k int, kind Kind) Value {
	if kinds > 1 && r.IntN(20) == 0 {
		return []Value{Unknown, Int(int64(r.Uint64())), Uint(r.Uint64() >> r.IntN(60)), Float(float64(r.IntN(100)) / 10), Float(0)}[r.IntN(5)]
	}
	if kind == Counter || kind == Derive {
		return Uint(uint64(k*1000 + r.IntN(900)))
	}
	return Float(r.Float64() * 100)
}
