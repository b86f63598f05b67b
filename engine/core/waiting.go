package core

import (
	"math"
	"sync"

	"github.com/rondo-db/rondo/rra"
)

// settles says whether a series takes what waits with the reading that ends PDP k: twice in a block
// of rows. All groups do so when the block is full. Some readings before that each has a time of
// its own, so that few readings wait then, and an acknowledgement does not wait for all groups.
func (g *group) settles(k int64) bool {
	const last = rra.MaxStride - 1
	return k&last == last || k&last == last-8+int64(g.id&7)
}

// cells returns the cells of PDP k of the first data source, by series.
func (g *group) cells(k int64) []float64 {
	at := (g.c.colOff[g.c.oneCol] + int(k&(rra.MaxStride-1))) * g.pitch
	return g.bufs[at : at+g.capacity]
}

// wait lets samples of b wait from one on until one cannot. It returns that one, or to. All have
// one time and one number of values, as the samples of a run have.
func (sh *shard) wait(g *group, b *Batch, from, to uint32, o *outcome) uint32 {
	c, at := g.c, b.samples[from].at
	sec := at.Unix()
	if sec <= 0 || sec > math.MaxUint32 || int(b.samples[from].n) != c.sources {
		return from
	}
	k := sec / c.step
	settles, mask := g.settles(k), uint32(1)<<c.shift-1
	var before, now beat // of a cadence that has the time
	beats, samples := g.beats[:g.n], b.samples[from:to]
	line, plain := g.cells(k)[:len(beats)], g.plain[:len(beats)]
	list := sh.index[:0]
	n := 0
	for ; n < len(samples); n++ {
		sm := &samples[n]
		x := sm.ref.number() & mask
		if int(x) >= len(beats) {
			break
		}
		if beats[x] != before || before == 0 {
			cadence := sh.follow(g, int(x), at, k)
			if cadence < 0 {
				break
			}
			before, now = beatOf(cadence, k-1), beatOf(cadence, k)
		}
		if v := &b.values[sm.first]; v.Tag == plain[x] && (v.Tag == rra.TagFloat || int64(v.Bits) >= 0) {
			line[x] = math.Float64frombits(v.Bits)
		} else if !g.keepCells(int(x), k, b.values[sm.first:sm.first+uint32(sm.n)]) {
			break
		}
		beats[x] = now
		if settles {
			list = append(list, int32(x))
		}
	}
	sh.index = list
	o.accepted += n
	g.settle(&sh.coder, list)
	return from + uint32(n)
}

// follow returns the cadence in which the series at an index has a reading at a time that ends PDP
// k. It looks for another one if it is not the one at hand. -1: the reading cannot wait.
func (sh *shard) follow(g *group, i int, at rra.Time, k int64) int {
	if x := g.beats[i]; x != 0 && uint8(x) == uint8(k-1) && sh.onTime(g, int(x>>8)-1, at, k) {
		return int(x>>8) - 1
	}
	return sh.join(g, i, at, k)
}

// keepCells puts the readings of the series at an index into their cells. It returns false if one
// of them cannot wait.
func (g *group) keepCells(i int, k int64, values []rra.Value) bool {
	m, n := g.definition(i).m, g.c.sources
	for d := range values {
		if _, ok := m.Cell(d, &values[d]); !ok {
			return false
		}
	}
	for d := range values {
		v := values[d]
		bits, _ := m.Cell(d, &v)
		g.bufs[(g.c.colOff[g.c.oneCol+d]+int(k&(rra.MaxStride-1)))*g.pitch+i] = math.Float64frombits(bits)
		g.tags[i*n+d] = v.Tag
		if m.PlainTag(d) == rra.TagFloat && v.Tag != rra.TagFloat {
			g.table().KeepReading(i, d, v)
		}
	}
	g.plain[i] = notPlain
	if n == 1 && g.tags[i] == m.PlainTag(0) {
		g.plain[i] = g.tags[i]
	}
	return true
}

// onTime reports whether the members of a cadence may have a reading that ends PDP k at a time. The
// first of them brings a new time.
func (sh *shard) onTime(g *group, cadence int, at rra.Time, k int64) bool {
	c := &g.cadences[cadence]
	switch {
	case c.recent(k):
		return *c.at(k) == at && at-*c.at(k - 1) <= c.heartbeat
	case k != c.last+1 || at-*c.at(c.last) > c.heartbeat:
		return false
	}
	if g.settles(k) { // the cadence forgets the times of those who come late or no more
		for i, x := range g.beats[:g.n] {
			switch behind := uint8(k-1) - uint8(x); {
			case x>>8 != beat(cadence+1) || behind == 0:
			case behind > rra.MaxStride:
				g.leave(&sh.coder, i)
			default:
				g.settle(&sh.coder, []int32{int32(i)})
			}
		}
	}
	*c.at(k), c.last = at, k
	return true
}

// join gives the series at an index a cadence for a reading at a time. It returns -1 if the reading
// cannot wait.
func (sh *shard) join(g *group, i int, at rra.Time, k int64) int {
	g.leave(&sh.coder, i)
	if block := k / rra.MaxStride; block != g.joinsIn {
		g.joins, g.joinsIn = 0, block
	}
	if g.joins > maxJoins*g.n || !g.alive(i) || len(g.refused) > 0 && g.refused[i] != nil || g.texts != nil && g.texts[i] != nil {
		return -1
	}
	d, last := g.definition(i), g.table().LastUpdate(i)
	if d == nil || !d.m.Waits() || last < 0 || at <= last || last.Unix()/g.c.step != k-1 || at-last > d.m.Heartbeat() || !g.rowsUpTo(i, k) {
		return -1
	}
	cadence := sh.cadenceOf(g, last, at, k)
	if cadence < 0 {
		return -1
	}
	g.joins++
	c := &g.cadences[cadence]
	c.members++
	c.heartbeat = min(c.heartbeat, d.m.Heartbeat())
	g.beats[i], g.plain[i] = beatOf(cadence, k-1), notPlain
	return cadence
}

// rowsUpTo reports whether the buffers of the series at an index hold the rows before k of its
// block, or none.
func (g *group) rowsUpTo(i int, k int64) bool {
	for d := range g.c.sources {
		n, base := g.buffered(i, g.c.oneCol+d)
		if n > 0 && base+uint32(n) != uint32(k) {
			return false
		}
	}
	return true
}

// cadenceOf returns a cadence that has a reading at last, and one at a time that ends PDP k or none
// yet. It makes one if there is room. -1: there is none.
func (sh *shard) cadenceOf(g *group, last, at rra.Time, k int64) int {
	free := -1
	for j := range g.cadences {
		c := &g.cadences[j]
		switch {
		case c.members == 0:
			free = j
		case !c.recent(k) && k != c.last+1 || *c.at(k - 1) != last:
		case sh.onTime(g, j, at, k):
			return j
		}
	}
	if free < 0 {
		if len(g.cadences) == maxCadences {
			return -1
		}
		g.cadences = append(g.cadences, cadence{})
		free = len(g.cadences) - 1
	}
	c := &g.cadences[free]
	*c = cadence{first: k, last: k, heartbeat: math.MaxInt64}
	*c.at(k - 1), *c.at(k) = last, at
	return free
}

// leave settles the series at an index and ends its part in a cadence: something else is to change
// its state.
func (g *group) leave(co *bufferCoder, i int) {
	if !g.c.waits || g.beats[i] == 0 {
		return
	}
	g.settle(co, []int32{int32(i)})
	g.cadences[g.beats[i]>>8-1].members--
	g.beats[i] = 0
}

// leaveAll is leave for all series.
func (g *group) leaveAll(co *bufferCoder) {
	if len(g.cadences) > 0 {
		g.settleWith(co)
		clear(g.beats)
		g.cadences = g.cadences[:0]
	}
}

// settlers are for those who settle and have no shard.
var settlers = sync.Pool{New: func() any { return new(bufferCoder) }}

// settleOne settles the series at an index.
func (g *group) settleOne(i int) {
	if g.c.waits && g.beats[i] != 0 {
		co := settlers.Get().(*bufferCoder)
		g.settle(co, []int32{int32(i)})
		settlers.Put(co)
	}
}

// settleAll settles all series.
func (g *group) settleAll() {
	if len(g.cadences) > 0 {
		co := settlers.Get().(*bufferCoder)
		g.settleWith(co)
		settlers.Put(co)
	}
}

// settleWith is settleAll with the working memory at hand.
func (g *group) settleWith(co *bufferCoder) {
	list := make([]int32, 0, g.n)
	for i, x := range g.beats[:g.n] {
		if x != 0 {
			list = append(list, int32(i))
		}
	}
	g.settle(co, list)
}

// settle steps series through the readings that wait for them. A series that has left its cadence
// meanwhile is passed over.
func (g *group) settle(co *bufferCoder, list []int32) {
	t := g.table()
	for len(list) > 0 {
		i, n := list[0], 1
		if g.beats[i] == 0 {
			list = list[1:]
			continue
		}
		for n < len(list) && n < rra.StrideSeries && g.beats[list[n]] == g.beats[i] && t.LastUpdate(int(list[n])) == t.LastUpdate(int(i)) {
			n++
		}
		g.settleSome(co, list[:n])
		list = list[n:]
	}
}

// settleSome is settle for series whose readings came at the same times.
func (g *group) settleSome(co *bufferCoder, list []int32) {
	c, s, last := g.c, &co.stride, g.table().LastUpdate(int(list[0]))
	before, n, cadence := g.waiters(int(list[0]), last)
	if n == 0 {
		return
	}
	first := before + 1
	for j := range n {
		co.times[j] = *cadence.at(first + int64(j))
	}
	if !s.Begin(c.machine, last, co.times[:n]) {
		panic("core: a reading waits that does not end one PDP")
	}
	machines, id := co.machines[:len(list)], uint32(0)
	var m *rra.Machine
	for j, i := range list {
		if g.defs[i] != id {
			id = g.defs[i]
			m = c.defs.byID(id).m
		}
		machines[j] = m
	}
	cells := rra.Cells{W: g.bufs, N: g.pitch, Rows: co.rowsOf(c, first)}
	fast, rows, slow := s.Step(g.table(), cells, list, machines, g.tags)
	g.pushPDPs(co, fast, first, n)
	for i := range rows {
		g.pushRows(co, fast, &rows[i])
	}
	for _, j := range slow {
		i := int(list[j])
		runs := s.Slow(g.table(), cells, i, machines[j], g.tags)
		for r := range runs {
			g.push(co, i, &runs[r])
		}
	}
}

// rowsOf returns the rows of the buffers that hold the cells of PDP k, by data source.
func (co *bufferCoder) rowsOf(c *class, k int64) []int {
	co.rows = co.rows[:0]
	for d := range c.sources {
		co.rows = append(co.rows, c.colOff[c.oneCol+d]+int(k&(rra.MaxStride-1)))
	}
	return co.rows
}

// pushPDPs makes n cells of many series rows of their buffers. They are known, and of one block.
func (g *group) pushPDPs(co *bufferCoder, index []int32, first int64, n int) {
	for d := range g.c.sources {
		b := g.column(g.c.oneCol + d)
		for _, i := range index {
			if b.n[i] == 0 {
				b.base[i] = uint32(first)
			}
			b.n[i] += uint8(n)
		}
		if (first+int64(n))&(rra.MaxStride-1) == 0 {
			g.flushAll(co, index, g.c.oneCol+d, rra.MaxStride, 1)
		}
	}
}

// pushRows takes a row of a column of many series into their buffers.
func (g *group) pushRows(co *bufferCoder, index []int32, r *rra.StrideRows) {
	c := g.c
	col := int(r.Stream)*c.sources + int(r.DS)
	st := &c.streams[r.Stream]
	mask := st.Buffer - 1
	line := g.buffer(col, st, r.K)
	b := g.column(col)
	k := uint32(r.K)
	for j, i := range index {
		v := r.Values[j]
		switch n := b.n[i]; {
		case n == 0:
			if v == v {
				b.base[i], b.n[i], line[i] = k, 1, v
			}
		case b.base[i]+uint32(n) == k:
			line[i] = v
			b.n[i] = n + 1
		default:
			g.push(co, int(i), &rra.Run{Stream: r.Stream, DS: r.DS, First: r.K, Count: 1, Value: v})
		}
	}
	if r.K&mask == mask {
		g.flushAll(co, index, col, int(st.Buffer), st.PDPs)
	}
}

// flushAll codes the buffers of a column of many series, whose last rows have come, and empties
// them. It reads the buffers row by row, as they lie in memory.
func (g *group) flushAll(co *bufferCoder, index []int32, col, size int, pdps int64) {
	vals := co.room(size * len(index))
	for j := range size {
		from := (g.c.colOff[col] + j) * g.pitch
		line := g.bufs[from : from+g.capacity]
		at := j
		for _, i := range index {
			vals[at] = line[i]
			at += size
		}
	}
	b, waiting := g.column(col), g.waiting()
	for j, i := range index {
		if n := int(b.n[i]); n > 0 {
			waiting.Add(&co.Coder, int(i), col, b.base[i], vals[(j+1)*size-n:(j+1)*size], pdps, &b.hints[i])
			b.n[i] = 0
		}
	}
}
