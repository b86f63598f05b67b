package rra

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// A blockTrial steps the same readings twice: series of a table in blocks, and their copies one by
// one on the general path.
type blockTrial struct {
	r        *rand.Rand
	t        Table
	machines []*Machine // by series
	texts    [][]string // likewise
	general  []State    // likewise: the copies
	bl       Block

	taken, texted, shared int // how often what should be tested was
}

// newBlockTrial makes series of p's definition and of another one of the same shape.
func newBlockTrial(t *testing.T, r *rand.Rand, p *trial) *blockTrial {
	other := *p.def
	other.Sources, other.Archives = slices.Clone(p.def.Sources), slices.Clone(p.def.Archives)
	for i := range other.Sources {
		other.Sources[i].Heartbeat *= 3
		if other.Sources[i].Kind != Compute && r.IntN(2) == 0 {
			other.Sources[i].Kind = Gauge
		}
	}
	if r.IntN(2) == 0 {
		for i := range other.Archives {
			other.Archives[i].XFF /= 2
		}
	}
	a, b := compile(t, p.def), compile(t, &other)
	x := &blockTrial{r: r}
	const series = 11
	x.t = Table{W: make([]uint64, a.Words()*(series+2)), N: series + 2}
	for i := range series {
		m := a
		if i > 3 && r.IntN(4) > 0 {
			m = b
		}
		st := m.NewState(Seconds(p.start))
		x.t.Store(i, st.W)
		x.machines, x.texts, x.general = append(x.machines, m), append(x.texts, nil), append(x.general, st)
	}
	return x
}

// step gives a reading to most of the series, each with values of its own, and compares.
func (x *blockTrial) step(t *testing.T, p *trial, at Time, reading func(i int) ([]Value, []string)) {
	var index []int32
	var values []Value
	var texts []string
	var want []string
	for i := range x.machines {
		if x.r.IntN(10) == 0 {
			continue
		}
		v, s := reading(i)
		runs, err := x.machines[i].Step(&x.general[i], at, v, s, nil)
		want = append(want, fmt.Sprint(i, runs, err != nil))
		index = append(index, int32(i))
		for _, y := range v {
			if y.Tag == TagText || y.Tag == TagInvalid {
				y.Bits += uint64(len(texts))
			}
			values = append(values, y)
		}
		texts = append(texts, s...)
	}
	got := x.apply(at, index, values, texts)
	if !slices.Equal(got, want) {
		t.Fatalf("%v: at %d, %v %q:\nblock   %v\ngeneral %v", p.args, at, values, texts, got, want)
	}
	for i := range x.machines {
		w := make([]uint64, x.machines[i].Words())
		x.t.Load(i, w)
		if !slices.Equal(w, x.general[i].W) || !slices.Equal(x.texts[i], x.general[i].Text) || x.t.LastUpdate(i) != x.machines[i].LastUpdate(w) {
			t.Fatalf("%v: at %d, %v, series %d:\nblock   %x %q\ngeneral %x %q", p.args, at, values, i, w, x.texts[i], x.general[i].W, x.general[i].Text)
		}
	}
}

// apply steps series in blocks, and by themselves where no block takes them.
func (x *blockTrial) apply(at Time, index []int32, values []Value, texts []string) []string {
	var out []string
	for len(index) > 0 {
		x.bl.Begin(x.t, at)
		for len(index) > 0 {
			m := x.machines[index[0]]
			n := 1
			for n < len(index) && x.machines[index[n]] == m {
				n++
			}
			taken, kept := x.bl.Take(m, index[:n], values[:n*m.Inputs()], texts)
			for _, k := range kept {
				x.texts[k.Index] = k.Texts
				x.texted++
			}
			if taken > 0 && taken < x.bl.Len() {
				x.shared++
			}
			index, values = index[taken:], values[taken*m.Inputs():]
			if taken < n {
				break
			}
		}
		if x.bl.Len() > 0 {
			out = append(out, x.rows()...)
			continue
		}
		i := int(index[0])
		m := x.machines[i]
		st := State{W: make([]uint64, m.Words()), Text: x.texts[i]}
		x.t.Load(i, st.W)
		runs, err := m.Step(&st, at, values[:m.Inputs()], texts, nil)
		x.t.Store(i, st.W)
		x.texts[i] = st.Text
		out = append(out, fmt.Sprint(i, runs, err != nil))
		index, values = index[1:], values[m.Inputs():]
	}
	return out
}

// rows ends the block, and returns the rows of each of its series as Step would.
func (x *blockTrial) rows() (out []string) {
	x.taken += x.bl.Len()
	rows := x.bl.End()
	for j, i := range x.bl.Index() {
		var runs []Run
		for _, r := range rows {
			runs = append(runs, Run{r.Stream, r.DS, r.K, 1, r.Values[j]})
		}
		out = append(out, fmt.Sprint(i, runs, false))
	}
	return out
}

// TestBlock holds steps of many series against steps of each of them on the general path: rows,
// states and texts must be the same to the bit.
func TestBlock(t *testing.T) {
	r := seedtest.Rand(t)
	taken, texted, shared := 0, 0, 0
	for range 300 {
		p := newTrial(r, false)
		x := newBlockTrial(t, r, p)
		type reading struct {
			values []Value
			texts  []string
		}
		var times []Time
		var all []reading
		p.each(func(at Time, values []Value, texts []string) {
			times = append(times, at)
			all = append(all, reading{slices.Clone(values), slices.Clone(texts)})
		})
		for k, at := range times {
			x.step(t, p, at, func(i int) ([]Value, []string) {
				y := all[(k+i/2)%len(all)]
				if len(y.values) != x.machines[i].Inputs() { // a reading that does not fit its series
					y = reading{make([]Value, x.machines[i].Inputs()), nil}
				}
				return y.values, y.texts
			})
		}
		taken, texted, shared = taken+x.taken, texted+x.texted, shared+x.shared
	}
	if taken < 10_000 || texted < 300 || shared < 300 {
		t.Errorf("only %d series were taken, %d texts, %d blocks of two machines", taken, texted, shared)
	}
}

// TestBlockTwice: a series comes twice in one batch. The second reading is for the general path,
// which refuses it, and the block does not change what the first has made.
func TestBlockTwice(t *testing.T) {
	m := compile(t, benchDefinition(Gauge, 1))
	tab := Table{W: make([]uint64, m.Words()*2), N: 2}
	for i := range 2 {
		w := m.NewState(Seconds(1_000_000_000)).W
		tab.Store(i, w)
	}
	var b Block
	at := Seconds(1_000_000_010)
	b.Begin(tab, at)
	taken, _ := b.Take(m, []int32{0, 1, 0}, []Value{Int(1), Int(2), Int(3)}, nil)
	if taken != 2 || tab.LastUpdate(0) != at {
		t.Fatalf("%d series were taken, series 0 stands at %d", taken, tab.LastUpdate(0))
	}
	if taken, _ := b.Take(m, []int32{0}, []Value{Int(3)}, nil); taken != 0 {
		t.Error("a series that is in the block was taken again")
	}
	rows := b.End()
	if len(rows) != 1 || !slices.Equal(rows[0].Values, []float64{1, 2}) {
		t.Errorf("the block ends rows %v", rows)
	}
	b.Begin(tab, at)
	if taken, _ := b.Take(m, []int32{0}, []Value{Int(3)}, nil); taken != 0 || tab.LastUpdate(0) != at {
		t.Error("a reading that is not after the last update was taken")
	}
}
