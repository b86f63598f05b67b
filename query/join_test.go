package query_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

func create(t testing.TB, s *core.Store, path string, d *rra.Definition, start int64) core.Ref {
	t.Helper()
	ref, err := s.Create(t.Context(), core.Spec{Path: path, Definition: d, Start: rra.Seconds(start)})
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// appended appends readings of both data sources of define: the number of the step, and less than
// it, each step up to the second last.
func appended(t testing.TB, s *core.Store, ref core.Ref, last int64) {
	t.Helper()
	at, err := s.Last(ref)
	if err != nil {
		t.Fatal(err)
	}
	var b core.Batch
	for now := at.Unix() + 10; now <= last; now += 10 {
		b.Add(ref, rra.Seconds(now), rra.Int(now/10), rra.Int(-now/10))
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

func points(t testing.TB, s core.Engine, ref core.Ref, r query.Request, most int64) *query.Table {
	t.Helper()
	return pointsOf(t, s, []core.Ref{ref}, r, most)[0]
}

// plans plans the same chart of several series.
func plans(t testing.TB, s core.Engine, refs []core.Ref, r query.Request, most int64) (all []*query.Points) {
	t.Helper()
	opens, err := query.Opens(t.Context(), s, refs)
	if err != nil {
		t.Fatal(err)
	}
	for i, ref := range refs {
		x, err := core.SeriesOf(t.Context(), s, ref)
		if err != nil {
			t.Fatal(err)
		}
		p, err := query.NewPoints(x, &opens[i], r, most)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

func pointsOf(t testing.TB, s core.Engine, refs []core.Ref, r query.Request, most int64) []*query.Table {
	t.Helper()
	return read(t, s, plans(t, s, refs, r, most)...)
}

func read(t testing.TB, s core.Engine, all ...*query.Points) []*query.Table {
	t.Helper()
	got, errs, err := query.ReadPoints(t.Context(), s, all, func(int64) error { return nil })
	if err = errors.Join(append(errs, err)...); err != nil {
		t.Fatal(err)
	}
	return got
}

// Collectd's archives, and a host of 30 days: at every range the newest point is at most two steps
// old. A host of two minutes, and one with a single reading, are seen at every range, too.
func TestNewestPointIsNew(t *testing.T) {
	const now = 1_700_000_003
	archives := []string{"RRA:AVERAGE:0.1:1:1200", "RRA:AVERAGE:0.1:7:1200", "RRA:AVERAGE:0.1:50:1200", "RRA:AVERAGE:0.1:223:1200", "RRA:AVERAGE:0.1:2635:1200"}
	s := enginetest.Open(t)
	for _, age := range []int64{30 * 86400, 120, 10} {
		ref := create(t, s, fmt.Sprint(age), define(t, 10, archives...), now-age)
		appended(t, s, ref, now)
		for _, length := range []int64{900, 3600, 6 * 3600, 86400, 7 * 86400, 31 * 86400, 366 * 86400} {
			for _, most := range []int64{60, 400, 1200} {
				got := points(t, s, ref, query.Request{Start: now - length, End: now}, most)
				v := math.NaN()
				if n := len(got.Values); n > 0 {
					v = got.Values[n-2]
				}
				if now-got.End > 20 || math.IsNaN(v) {
					t.Errorf("%d s of a host of %d s in %d points: %v, %d s ago", length, age, most, v, now-got.End)
				}
			}
		}
	}
}

// A model is a series whose joined reads are compared with a slow way to say what they are: for
// each second, the first place that knows it.
type model struct {
	*testing.T
	s       *core.Store
	d       *rra.Definition
	ref     core.Ref
	last    int64
	open    query.Open
	rows    []core.Rows // of each archive
	reached map[string]int
}

func TestJoinedReadsAreWhatSomeArchiveKnows(t *testing.T) {
	reached := make(map[string]int)
	for _, seed := range seedtest.Many(t, 60) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			m := &model{T: t, s: enginetest.Open(t), reached: reached}
			m.fill(r)
			for range 60 {
				cf := rra.CF(r.IntN(4))
				length := 1 + r.Int64N(400*m.d.Step)
				end := m.last - r.Int64N(length+40)
				if r.IntN(2) == 0 {
					end = m.last + r.Int64N(100)
				}
				m.compare(query.Request{CF: cf, Start: max(0, end-length), End: end, Resolution: 1 + r.Int64N(20*m.d.Step)}, r.Int64N(30))
			}
		})
	}
	for _, what := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%-10s %d", what, reached[what])
	}
	for _, what := range []string{"base", "part", "finer", "open", "coarser", "mixed", "average", "unknown", "short"} {
		if reached[what] == 0 && len(reached) > 0 && !seedtest.Repeats() {
			t.Errorf("no point is %s", what)
		}
	}
}

// fill makes a series of a random definition, and gives it samples.
func (m *model) fill(r *rand.Rand) {
	step := []int64{1, 5, 10, 60}[r.IntN(4)]
	lines := []string{"DS:x:GAUGE:%d:0:U", "DS:y:COUNTER:%d:U:U", "DS:z:GAUGE:%d:U:50"}[:1+r.IntN(3)]
	for i := range lines {
		lines[i] = fmt.Sprintf(lines[i], 2*step)
	}
	for range 1 + r.IntN(6) {
		pdps := []int64{1, 1, 2, 3, 4, 5, 6, 12, 30, 45}[r.IntN(10)]
		lines = append(lines, fmt.Sprintf("RRA:%s:%v:%d:%d", rra.CF(r.IntN(4)*r.IntN(2)), []float64{0, 0.3, 0.5, 0.9}[r.IntN(4)], pdps, 1+r.IntN(80)))
	}
	d, err := rra.ParseDefinition(step, lines)
	if err != nil {
		m.Fatal(err)
	}
	m.d = d
	at := 100_000 + r.Int64N(1000)
	var b core.Batch
	if r.IntN(2) == 0 { // a young series in an old group
		began := at - r.Int64N(1000)*step
		old := create(m, m.s, "old", d, began)
		for now := began + step; now < at; now += step {
			b.Add(old, rra.Seconds(now), slices.Repeat([]rra.Value{rra.Int(now)}, len(d.Sources))...)
		}
		m.append(&b, r.IntN(3) > 0)
	}
	created := at
	m.ref = create(m, m.s, "x", d, at)
	gaps := []int{0, 5, 30}[r.IntN(3)] // per cent of the readings
	for range 1 + r.IntN(600) {
		at += max(1, step/2+r.Int64N(step+1))
		if r.IntN(100) < gaps {
			at += r.Int64N(8 * step)
		}
		values := make([]rra.Value, len(d.Sources))
		for i := range values {
			if values[i] = rra.Int(r.Int64N(60)); r.IntN(100) < gaps {
				values[i] = rra.Unknown
			}
		}
		b.Add(m.ref, rra.Seconds(at)+rra.Time(r.Int64N(2)*r.Int64N(1_000_000)), values...)
		if at++; at%200 == 0 {
			m.append(&b, true)
		}
	}
	m.append(&b, at%2 == 0)
	opens, err := query.Opens(context.Background(), m.s, []core.Ref{m.ref})
	if err != nil {
		m.Fatal(err)
	}
	m.open, m.last = opens[0], opens[0].Last
	if m.open.First < created-step*45 {
		m.Errorf("nothing is known behind %d: it was created at %d", m.open.First, created)
	}
	for i := range d.Archives {
		from, to := d.Window(i, m.last)
		rows, err := m.s.Fetch(context.Background(), m.ref, i, from, to)
		if err != nil {
			m.Fatal(err)
		}
		m.rows = append(m.rows, rows)
		skip := r.Int64N((to-from)/rows.Step + 1) // of all rows, to have the newest alone
		newest, err := m.s.Fetch(context.Background(), m.ref, i, from+skip*rows.Step, to)
		same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
		if err != nil || !slices.EqualFunc(newest.Values, rows.Values[int(skip)*len(rows.DS):], same) {
			m.Fatalf("without the first %d of %d rows: %v, %v, not %v", skip, len(rows.Values), newest.Values, err, rows.Values)
		}
		known := slices.IndexFunc(rows.Values, func(v float64) bool { return v == v })
		if first := rows.Start + int64(known/len(rows.DS))*rows.Step; known >= 0 && first < m.open.First {
			m.Fatalf("archive %d of %v knows what is behind %d, not only behind %d", i, d.Archives, first, m.open.First)
		}
	}
}

// append appends the samples of b, and empties it.
func (m *model) append(b *core.Batch, checkpoint bool) {
	if err := m.s.Append(context.Background(), b); err != nil {
		m.Fatal(err)
	}
	if b.Reset(); checkpoint {
		if err := m.s.Checkpoint(context.Background()); err != nil {
			m.Fatal(err)
		}
	}
}

// at returns what an archive, or the open row, knows of the second behind t, and its row.
func (m *model) at(archive, ds int, t int64) (v float64, row int64) {
	if archive == core.OpenRow {
		if t < m.open.From || t >= m.open.Last {
			return math.NaN(), 0
		}
		return m.open.Values[ds], 0
	}
	r := &m.rows[archive]
	if t < r.Start || t >= r.End {
		return math.NaN(), 0
	}
	row = (t - r.Start) / r.Step
	return r.Values[int(row)*len(r.DS)+ds], r.Start + row*r.Step
}

// order returns the archives of cf in the order in which they are asked.
func (m *model) order(base int, cf rra.CF) []int {
	order := []int{core.OpenRow}
	for i := range m.d.Archives {
		if m.d.Archives[i].Serves(cf) && i != base {
			order = append(order, i)
		}
	}
	// Finer ones are below zero: the coarsest of them first.
	class := func(i int) int64 {
		switch {
		case i == core.OpenRow:
			return 0
		case m.d.Archives[i].PDPs > m.d.Archives[base].PDPs:
			return m.d.Archives[i].PDPs
		}
		return -1<<40 - m.d.Archives[i].PDPs
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(class(a), class(b)) })
	return order
}

// A part is the seconds of a point that one row gives.
type part struct {
	archive int
	row     int64
	v       float64
	seconds int64
	end     int64
}

// parts returns the parts of a point, by second.
func (m *model) parts(order []int, ds int, from, to int64) (parts []part) {
	for t := from; t < min(to, m.last); t++ {
		for _, i := range order {
			v, row := m.at(i, ds, t)
			if math.IsNaN(v) {
				continue
			}
			if n := len(parts); n > 0 && parts[n-1].archive == i && parts[n-1].row == row && parts[n-1].end == t {
				parts[n-1].seconds++
				parts[n-1].end++
			} else {
				parts = append(parts, part{i, row, v, 1, t + 1})
			}
			break
		}
	}
	return parts
}

func (m *model) compare(r query.Request, most int64) {
	p, err := query.NewPoints(core.Series{Ref: m.ref, Definition: m.d}, &m.open, r, most)
	if errors.Is(err, query.ErrNoArchive) {
		return
	}
	if err != nil {
		m.Fatal(err)
	}
	got := read(m, m.s, p)[0]
	base := got.Archive
	order := append([]int{base}, m.order(base, r.CF)...)
	newest := int64(0)
	for i := range int64(len(got.Values) / len(got.DS)) {
		from := got.Start + i*got.Step
		for ds := range got.DS {
			parts := m.parts(order, ds, from, from+got.Step)
			if len(parts) == 0 && (r.CF == rra.Min || r.CF == rra.Max) {
				if parts = m.parts(m.order(base, rra.Average), ds, from, from+got.Step); len(parts) > 0 {
					m.reached["average"]++
				}
			}
			v := got.Values[int(i)*len(got.DS)+ds]
			want, exact := consolidated(r.CF, parts)
			if !(v == want || math.IsNaN(v) && math.IsNaN(want) || !exact && math.Abs(v-want) <= 1e-12*math.Abs(want)) {
				m.Fatalf("%+v in %d points, archive %d of %v: point (%d, %d] of source %d is %v, want %v of %+v",
					r, most, base, m.d.Archives, from, from+got.Step, ds, v, want, parts)
			}
			m.count(base, got.Step, parts)
			for _, p := range parts {
				newest = max(newest, p.end)
			}
		}
	}
	end := got.Start + int64(len(got.Values)/len(got.DS))*got.Step
	if newest > end-got.Step && newest < end {
		m.reached["short"]++
		end = newest
	}
	if got.End != end {
		m.Fatalf("%+v in %d points: they end at %d, want %d", r, most, got.End, end)
	}
}

// count notes where a point comes from.
func (m *model) count(base int, width int64, parts []part) {
	kinds := make(map[string]bool)
	seconds := int64(0)
	for _, p := range parts {
		seconds += p.seconds
		switch {
		case p.archive == core.OpenRow:
			kinds["open"] = true
		case p.archive == base:
			kinds["base"] = true
		case m.d.Archives[p.archive].PDPs <= m.d.Archives[base].PDPs:
			kinds["finer"] = true
		default:
			kinds["coarser"] = true
		}
	}
	for k := range kinds {
		m.reached[k]++
	}
	switch {
	case len(parts) == 0:
		m.reached["unknown"]++
	case seconds < width:
		m.reached["part"]++
	}
	if len(kinds) > 1 {
		m.reached["mixed"]++
	}
}

// consolidated returns the value of parts, and whether it is to be equal to the last bit.
func consolidated(cf rra.CF, parts []part) (v float64, exact bool) {
	if len(parts) == 0 {
		return math.NaN(), true
	}
	sum, weighed, seconds := 0.0, 0.0, int64(0)
	least, greatest, exact := parts[0].v, parts[0].v, true
	for _, p := range parts {
		sum, weighed, seconds = sum+p.v, weighed+p.v*float64(p.seconds), seconds+p.seconds
		least, greatest = min(least, p.v), max(greatest, p.v)
		exact = exact && p.archive == parts[0].archive && p.seconds == parts[0].seconds
	}
	switch {
	case cf == rra.Min:
		return least, true
	case cf == rra.Max:
		return greatest, true
	case cf == rra.Last:
		return parts[len(parts)-1].v, true
	case exact:
		return sum / float64(len(parts)), true
	}
	return weighed / float64(seconds), false
}
