package rra

import (
	"math"
	"slices"
)

// MaxStride is how many readings a Stride takes.
const MaxStride = 32

// unknownCell stands for an unknown reading of a COUNTER or DERIVE: such a reading that may wait is
// not negative.
const unknownCell = 1 << 63

// StrideSeries is how many series a Stride steps at once.
const StrideSeries = 32

// A Stride steps series of one Table through readings that have waited: all of the series had their
// readings at the same times, and each reading ends one PDP. It works through data sources and
// archives one after the other: what depends on the times or on an archive is done once for all
// series, and what a series holds in an archive is read and written once for all readings. The
// results are what [Machine.Step] gives, to the last bit: TestStride compares the two.
//
// [Stride.Begin] takes the times and [Stride.Step] the series. The zero Stride may begin. A Stride
// keeps its memory from one use to the next.
type Stride struct {
	n       int // readings
	moments [MaxStride]moment
	first   [maxLanes]int // by lane: the first reading that ends a row; it may be behind all
	mo      moment        // of One

	pdps  []float64 // by data source, place and reading
	ends  []ending  // by data source and place
	index []int32   // the series that took the fast way
	place []int32   // where their pdps and ends are
	slow  []int32   // places, in the index of Step, of the others
	rows  []StrideRows
	out   []float64 // their values

	// Of one series that took the slow way.
	values []Value
	kept   []uint64
	runs   []Run
	state  State
	words  []uint64
}

// An ending is what a data source of a series is after the readings.
type ending struct {
	open float64 // what the PDP behind them holds
	bits uint64  // of the newest
}

// Cells are the readings of series that wait, and then the PDPs that they end. The reading number j
// of data source d of series i stands in W[(Rows[d]+j)*N+i].
type Cells struct {
	W    []float64
	N    int
	Rows []int
}

// A StrideRows is one row of a data source in a stream, for each series that took the fast way.
type StrideRows struct {
	Stream, DS int32
	K          int64
	Values     []float64 // valid until the next Begin
}

// Cell returns what reading v of data source d is while it waits for a Stride. ok is false if the
// series must take the reading at once, by Step.
func (m *Machine) Cell(d int, v *Value) (bits uint64, ok bool) {
	s := &m.sources[d]
	switch {
	case s.kind == Counter || s.kind == Derive:
		if v.Tag == TagUnknown {
			return unknownCell, v.Bits == 0
		}
		return v.Bits, v.Tag <= TagUint && int64(v.Bits) >= 0
	case s.kind != Gauge && s.kind != Absolute:
		return 0, false
	case v.Tag == TagFloat:
		return v.Bits, true
	case v.Tag == TagUnknown:
		return nanBits, v.Bits == 0
	}
	x, ok := v.plainNumber()
	return math.Float64bits(x), ok
}

// Heartbeat returns the shortest heartbeat of the data sources. A reading that comes later than
// that must not wait.
func (m *Machine) Heartbeat() Time {
	least := int64(math.MaxInt64 / 1_000_000)
	for i := range m.def.Sources {
		least = min(least, m.def.Sources[i].Heartbeat)
	}
	return Seconds(least)
}

// Waits reports whether readings of m may wait. It is false with a data source for which Cell is
// never ok.
func (m *Machine) Waits() bool {
	for i := range m.sources {
		if m.sources[i].kind > Absolute {
			return false
		}
	}
	return m.straight && m.one != 0 && !m.noStraight
}

// KeepReading makes v the last reading of data source d of a series, though the series takes it
// later. It is for readings that Cell makes other bits of.
func (t Table) KeepReading(i, d int, v Value) {
	t.W[(wordSources+dsWords*d+dsBits)*t.N+i] = v.Bits
}

// Begin readies s for readings at some times, at most MaxStride, of series of m's shape that had
// their last update at last. It returns false if not every reading ends one PDP.
func (s *Stride) Begin(m *Machine, last Time, times []Time) bool {
	s.n = len(times)
	for j, at := range times {
		mo := &s.moments[j]
		if mo.at != at || mo.last != uint64(last) || mo.shape != m.shape {
			mo.make(m, uint64(last), at)
		}
		if !mo.ok || mo.sec < mo.end {
			return false
		}
		last = at
	}
	k := int64(s.moments[0].k)
	for i := range m.lanes {
		n := m.lanes[i].n
		s.first[i] = int((n - k%n) % n)
	}
	if size := StrideSeries * len(m.sources); len(s.ends) < size {
		s.ends, s.pdps = make([]ending, size), make([]float64, size*MaxStride)
		s.values, s.kept = make([]Value, len(m.sources)), make([]uint64, len(m.sources))
	}
	return true
}

// Step steps series of t, at most StrideSeries, through the readings in the cells. index[i] is of
// machines[i]. tags are of the newest readings of all series of t, by series, then data
// source. Step makes the cells of most series their PDPs, all known. It returns these series, the
// rows of theirs that end in streams of several PDPs, and the places in index of the others, which
// it leaves to [Stride.Slow].
func (s *Stride) Step(t Table, cells Cells, index []int32, machines []*Machine, tags []Tag) (fast []int32, rows []StrideRows, slow []int32) {
	s.index, s.place, s.slow, s.rows, s.out = s.index[:0], s.place[:0], s.slow[:0], s.rows[:0], s.out[:0]
	m := machines[0]
	same := m // another one whose rows end in the same way
	for place, i := range index {
		x := machines[place]
		if x != m && x != same {
			if slices.Equal(x.lanes, m.lanes) {
				same = x
			}
		}
		if x != m && x != same || !s.closes(x, t, cells, int(i), place) {
			s.slow = append(s.slow, int32(place))
			continue
		}
		s.index, s.place = append(s.index, i), append(s.place, int32(place*MaxStride))
		s.keep(x, t, cells, int(i), place, tags[int(i)*len(x.sources):])
	}
	for li := range m.lanes {
		for d := range m.sources {
			s.fold(&m.lanes[li], s.first[li], t, d)
		}
	}
	return s.index, s.rows, s.slow
}

// closes computes the PDPs of a series. It changes nothing of the series. It returns false if an
// unknown PDP or a special reading is among them.
func (s *Stride) closes(m *Machine, t Table, cells Cells, i, place int) bool {
	for d := range m.sources {
		if !s.close(m, t, cells, i, d, place) {
			return false
		}
	}
	return true
}

// close is closes for one data source.
func (s *Stride) close(m *Machine, t Table, cells Cells, i, d, place int) bool {
	ds, n := t.W[(wordSources+dsWords*d)*t.N+i:], t.N
	val, meta := math.Float64frombits(ds[dsValue*n]), ds[dsMeta*n]
	unknown := int64(meta >> 8)
	if unknown > m.step/2 {
		return false
	}
	if val != val {
		val = 0
	}
	src := &m.sources[d]
	div, whole := float64(m.step-unknown), float64(m.step)
	at := d*StrideSeries + place
	pdps := s.pdps[at*MaxStride:][:s.n]
	moments := s.moments[:len(pdps)]
	cell := cells.W[cells.Rows[d]*cells.N+i:]
	var bits uint64
	odd := false
	switch src.kind {
	case Gauge:
		for j := range pdps {
			mo := &moments[j]
			x := cell[j*cells.N]
			odd = odd || x > src.max || x < src.min
			rate := float64(x*mo.iv) / mo.iv
			val += float64(rate * mo.pre)
			pdp := val / div
			odd = odd || pdp-pdp != 0 // no number, or infinite
			pdps[j], div = pdp, whole
			val = float64(rate * mo.post)
		}
		bits = math.Float64bits(cell[(len(pdps)-1)*cells.N])
	case Absolute:
		for j := range pdps {
			mo := &moments[j]
			rate := cell[j*cells.N] / mo.iv
			odd = odd || rate > src.max || rate < src.min
			val += float64(rate * mo.pre)
			pdp := val / div
			odd = odd || pdp-pdp != 0
			pdps[j], div = pdp, whole
			val = float64(rate * mo.post)
		}
		bits = math.Float64bits(cell[(len(pdps)-1)*cells.N])
	default:
		if Tag(meta) > TagUint || Tag(meta) == TagUnknown {
			return false
		}
		val, bits, odd = src.closeCounts(ds[dsBits*n], cell, cells.N, moments, val, div, whole, pdps)
	}
	s.ends[at] = ending{val, bits}
	return !odd
}

// closeCounts is close for a COUNTER or a DERIVE whose reading before was prev. The cells lie n
// apart.
// odd says that a reading needs the slow way.
func (s *source) closeCounts(prev uint64, cell []float64, n int, moments []moment, val, div, whole float64, pdps []float64) (open float64, bits uint64, odd bool) {
	for j := range pdps {
		mo := &moments[j]
		bits = math.Float64bits(cell[j*n])
		diff := int64(bits - prev)
		odd = odd || int64(bits|prev) < 0 || diff > 1<<53 || diff < 0 && (s.kind == Counter || diff < -1<<53)
		prev = bits
		rate := float64(diff) / mo.iv
		odd = odd || rate > s.max || rate < s.min
		val += float64(rate * mo.pre)
		pdps[j], div = val/div, whole
		val = float64(rate * mo.post)
	}
	return val, bits, odd
}

// keep makes the cells of a series its PDPs, which closes has computed, and moves what does not
// depend on lanes.
func (s *Stride) keep(m *Machine, t Table, cells Cells, i, place int, tags []Tag) {
	w, n := t.W[i:], t.N
	w[wordLast*n] = uint64(s.moments[s.n-1].at)
	for d := range m.sources {
		at := d*StrideSeries + place
		end, pdps := &s.ends[at], s.pdps[at*MaxStride:][:s.n]
		ds := w[(wordSources+dsWords*d)*n:]
		ds[dsValue*n], ds[dsMeta*n] = math.Float64bits(end.open), uint64(tags[d])
		if plain := m.PlainTag(d); tags[d] == plain || plain == TagUint {
			ds[dsBits*n] = end.bits
		}
		w[(m.one+oneWords*d+onePrimary)*n] = math.Float64bits(pdps[len(pdps)-1])
		cell := cells.W[cells.Rows[d]*cells.N+i:]
		for j, pdp := range pdps {
			cell[j*cells.N] = pdp
		}
	}
	m.advancePairs(w, n, s.n)
}

// fold folds the PDPs of a data source into a lane, for all series that took the fast way. next is
// the first reading that ends a row.
func (s *Stride) fold(l *lane, next int, t Table, d int) {
	vals := t.column(l.off + cdpWords*d + cdpValue)
	pdps := s.pdps[d*StrideSeries*MaxStride:]
	from := 0
	for ; next < s.n; next += int(l.n) {
		if next > from {
			s.gather(l, vals, pdps, from, next)
		}
		s.finish(l, t, d, pdps[next:], int64(s.moments[next].k))
		from = next + 1
	}
	if from < s.n {
		s.gather(l, vals, pdps, from, s.n)
	}
}

// gather is lane.gatherOne for the PDPs from one on up to another one.
func (s *Stride) gather(l *lane, vals []uint64, pdps []float64, from, to int) {
	for j, i := range s.index {
		at := int(s.place[j])
		val := math.Float64frombits(vals[i])
		more := pdps[at+from : at+to]
		if val != val {
			val, more = more[0], more[1:]
		}
		switch l.cf {
		case Average:
			for _, pdp := range more {
				val = pdp + val
			}
		case Min:
			for _, pdp := range more {
				if !(pdp >= val) {
					val = pdp
				}
			}
		case Max:
			for _, pdp := range more {
				if !(pdp <= val) {
					val = pdp
				}
			}
		default:
			val = pdps[at+to-1]
		}
		vals[i] = math.Float64bits(val)
	}
}

// finish ends a row of a lane with the first of pdps, which a reading ends.
func (s *Stride) finish(l *lane, t Table, d int, pdps []float64, k int64) {
	off := l.off + cdpWords*d
	vals, metas := t.column(off+cdpValue), t.column(off+cdpMeta)
	primary, secondary := t.column(off+cdpPrimary), t.column(off+cdpSecondary)
	at := len(s.out)
	s.out = slices.Grow(s.out, len(s.index))[:at+len(s.index)]
	out := s.out[at:]
	for j, i := range s.index {
		c := [cdpWords]uint64{cdpValue: vals[i], cdpMeta: metas[i]}
		l.finish(c[:], pdps[s.place[j]], 1, 0)
		out[j] = math.Float64frombits(c[cdpPrimary])
		if d == 0 {
			l.advance(&c[cdpMeta])
		}
		vals[i], primary[i], secondary[i], metas[i] = c[cdpValue], c[cdpPrimary], c[cdpSecondary], c[cdpMeta]
	}
	s.rows = append(s.rows, StrideRows{l.stream, int32(d), k / l.n, out})
}

// Slow is Step for series i of t, which is of m. It leaves the cells as they are, and returns the
// rows that end, the PDPs among them, which are valid until the next call.
func (s *Stride) Slow(t Table, cells Cells, i int, m *Machine, tags []Tag) []Run {
	values, kept := s.values[:len(m.sources)], s.kept[:len(m.sources)]
	for d := range kept {
		kept[d] = t.W[(wordSources+dsWords*d+dsBits)*t.N+i]
	}
	s.runs = s.runs[:0]
	for j := range s.n {
		for d := range values {
			values[d] = m.sources[d].cellValue(math.Float64bits(cells.W[(cells.Rows[d]+j)*cells.N+i]))
		}
		s.step(m, &s.moments[j], t, i, values)
	}
	tags = tags[i*len(m.sources):]
	for d := range m.sources { // the last readings as they came
		ds := t.W[(wordSources+dsWords*d)*t.N+i:]
		if tags[d] != TagFloat && m.PlainTag(d) == TagFloat {
			ds[dsBits*t.N] = kept[d]
		}
		ds[dsMeta*t.N] = ds[dsMeta*t.N]&^0xff | uint64(tags[d])
	}
	return s.runs
}

// cellValue returns a reading that counts as the one does whose cell is bits.
func (s *source) cellValue(bits uint64) Value {
	switch {
	case s.kind != Counter && s.kind != Derive:
		return Value{bits, TagFloat}
	case bits == unknownCell:
		return Unknown
	}
	return Value{bits, TagUint}
}

// step appends the rows of one reading to s.runs.
func (s *Stride) step(m *Machine, mo *moment, t Table, i int, values []Value) {
	var ok bool
	if s.runs, ok = m.stepStraight(mo, t, i, mo.at, values, s.runs); ok {
		return
	}
	if len(s.words) < m.words {
		s.words = make([]uint64, m.words)
	}
	s.state.W = s.words[:m.words]
	t.Load(i, s.state.W)
	// The times grow, and Cell takes no reading that the general path refuses.
	s.runs, _ = m.general(&s.state, mo.at, values, nil, s.runs)
	t.Store(i, s.state.W)
}

// One is [Machine.Step] for one reading of series i of t that has no texts. ok is false if the
// reading needs Step; nothing has changed then.
func (s *Stride) One(m *Machine, t Table, i int, at Time, values []Value, rows []Run) (out []Run, ok bool) {
	return m.stepStraight(&s.mo, t, i, at, values, rows)
}

// OneStream returns the index of the stream that has one PDP in a row. ok is false if readings of
// m's shape never wait.
func (m *Machine) OneStream() (stream int, ok bool) {
	return int(m.oneID), m.one != 0 && m.oneRows > 0 && m.Tabular()
}

// PlainTag returns the tag of readings that are their own cells: what Cell returns for one is its
// bits. Readings of a COUNTER or a DERIVE must not have the highest bit set besides.
func (m *Machine) PlainTag(d int) Tag {
	if kind := m.sources[d].kind; kind == Counter || kind == Derive {
		return TagUint
	}
	return TagFloat
}
