package core

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/held"
	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// Append and recovery apply samples in the same way. The samples of a run go through rra.Block, or
// one by one through shard.step, in the order of the log. The rows that they close go into the
// buffers of the group. The outcome depends on the log and on the state of the group alone.

// ascending has the indices of a dense run: from its first one on.
var ascending = func() (list [1 << groupShift]int32) {
	for i := range list {
		list[i] = int32(i)
	}
	return list
}()

// indices returns the indices of the series of samples. They hold until the next call.
func (sh *shard) indices(g *group, samples []sample, dense bool) []int32 {
	if dense {
		return ascending[g.c.index(samples[0].ref.number()):][:len(samples)]
	}
	sh.index = sh.index[:0]
	for i := range samples {
		sh.index = append(sh.index, int32(g.c.index(samples[i].ref.number())))
	}
	return sh.index
}

// A stretch is samples of a group at one time, with as many values each.
type stretch struct {
	at     rra.Time
	each   int // values of a sample
	values []rra.Value
	texts  []string
	from   int // index of the first sample in the batch
}

// stretch returns the samples of b from one on that are n and have the same time and as many
// values.
func (b *Batch) stretch(from, n int) *stretch {
	first := &b.samples[from]
	return &stretch{first.at, int(first.n), b.values[first.first:][:n*int(first.n)], b.texts, from}
}

// applySamples applies samples, whose series are at the given indices, to g, and counts their
// outcome in o. Plain ones step together, in blocks. The caller holds g.mu.
func (sh *shard) applySamples(g *group, st *stretch, index []int32, o *outcome) {
	// Without a window, samples that an earlier window held go first.
	holds := sh.reorder != 0 || len(g.held) > 0
	blocks := g.c.tabular && !holds
	sh.reach = rra.BlockSeries
	for n := 0; n < len(index); n++ {
		if blocks {
			n += sh.applyBlock(g, st, n, index, o)
		}
		if n < len(index) {
			sh.applyOdd(g, st, n, int(index[n]), o)
		}
	}
}

// applyBlock applies samples from number from on that can step together, in one block or in
// several. It returns how many: the one behind them must be applied by itself.
func (sh *shard) applyBlock(g *group, st *stretch, from int, index []int32, o *outcome) int {
	bl, n := &sh.block, from
	for n < len(index) {
		bl.Begin(g.table(), st.at)
		for n < len(index) && bl.Len() < rra.BlockSeries {
			d, list := g.plain(st.each, index[n:min(len(index), n+sh.reach, n+rra.BlockSeries-bl.Len())])
			if len(list) == 0 {
				break
			}
			taken, texts := bl.Take(d.m, list, st.values[n*d.values:(n+len(list))*d.values], st.texts)
			for _, t := range texts {
				g.setText(int(t.Index), t.Texts)
			}
			n += taken
			if taken < len(list) {
				sh.reach = max(1, taken) // samples in a row that do not fit are not looked at again and again
				break
			}
			sh.reach = min(2*sh.reach, rra.BlockSeries)
		}
		if bl.Len() == 0 {
			break
		}
		o.accepted += bl.Len()
		rows := bl.End()
		for i := range rows {
			g.pushBlock(&sh.coder, bl.Index(), &rows[i])
		}
	}
	return n - from
}

// plain returns the indices, from the first on, of series that nothing is the matter with. They
// have one definition, and it takes so many values.
func (g *group) plain(values int, index []int32) (*definition, []int32) {
	i := int(index[0])
	if !g.alive(i) {
		return nil, nil
	}
	d := g.definition(i)
	if d == nil || values != d.values {
		return nil, nil
	}
	flags := g.flags[:g.n]
	defs, taken := g.defs[:len(flags)], 0
	for _, i := range index {
		if int(i) >= len(flags) || flags[i] != flagAlive || defs[i] != d.id {
			break
		}
		taken++
	}
	if len(g.refused) > 0 {
		if j := slices.IndexFunc(index[:taken], func(i int32) bool { return g.refused[int(i)] != nil }); j >= 0 {
			taken = j
		}
	}
	return d, index[:taken]
}

// applyOdd applies sample n, which does not step together with others.
func (sh *shard) applyOdd(g *group, st *stretch, n, index int, o *outcome) {
	d, err := g.taking(index)
	if err == nil {
		err = sh.applyOne(g, d, index, st.at, st.values[n*st.each:][:st.each], st.texts)
	}
	if err != nil {
		o.reject(st.from+n, err)
		return
	}
	o.accepted++
}

// taking returns the definition of the series at an index, or why the series takes no samples.
func (g *group) taking(index int) (*definition, error) {
	if !g.alive(index) {
		return nil, ErrNotFound
	}
	if err := g.refused[index]; err != nil {
		return nil, err
	}
	d := g.definition(index)
	if d == nil {
		return nil, record.ErrParse
	}
	return d, nil
}

// applyOne applies a sample. It holds the sample back if there is a reorder window, or earlier
// samples of the series are held. The caller holds g.mu.
func (sh *shard) applyOne(g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) error {
	switch {
	case len(values) != d.values:
		return fmt.Errorf("%d values for %d data sources: %w", len(values), d.values, ErrShape)
	case !g.c.seasonal && (sh.reorder != 0 || g.held[index] != nil):
		return sh.hold(g, d, index, at, values, texts)
	}
	return sh.step(g, d, index, at, values, texts)
}

// applyCommand applies the samples [from, to) of b, all of one series, as one update command: the
// first sample that is refused ends it. The caller holds g.mu.
func (sh *shard) applyCommand(g *group, b *Batch, from, to uint32, flags byte, o *outcome) {
	index := g.c.index(b.samples[from].ref.number())
	d, err := g.taking(index)
	if err != nil {
		o.reject(int(from), err)
		return
	}
	stopped := flags&commandStopped != 0
	for i := from; i < to; i++ {
		sm := &b.samples[i]
		if err := sh.applyOne(g, d, index, sm.at, b.values[sm.first:][:sm.n], b.texts); err != nil {
			if _, late := errors.AsType[*rra.TimeError](err); late && flags&commandSkipLate != 0 {
				o.skipped++
				continue
			}
			o.reject(int(i), err)
			stopped = true
			break
		}
		o.accepted++
	}
	if !g.c.seasonal {
		return
	}
	st := g.state(index)
	if stopped {
		d.m.AbortUpdate(&st)
	} else {
		d.m.EndUpdate(&st)
	}
}

// seen says whether the state of g, when it was loaded, had the record at pos in it already. A
// record may have several runs of one group: applying the first run does not make the others seen.
func (g *group) seen(pos wal.Pos) bool { return pos <= g.pos && pos != g.applying }

// changed notes that g has applied a run of the record at pos.
func (g *group) changed(pos wal.Pos) {
	g.pos, g.applying = pos, pos
	g.dirty = true
}

// follow moves the applied coding context of g over samples, whose series are at the given indices,
// as decoding their record would.
func (g *group) follow(index []int32, st *stretch) {
	ctx, values := g.ctx, st.values
	tags := g.ctxTag[:len(ctx)]
	if st.each == 1 && g.c.sources == 1 {
		for j, at := range index[:len(values)] {
			if v := &values[j]; v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
				ctx[at], tags[at] = v.Bits, uint8(v.Tag)
			}
		}
		return
	}
	for i, at := range index {
		for j, v := range values[i*st.each:][:st.each] {
			if k := int(at)*g.c.sources + j; v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
				ctx[k], tags[k] = v.Bits, uint8(v.Tag)
			}
		}
	}
}

// applyBody applies one decoded run to a group that is locked, with the scratch space and the
// reorder window of sh. owner is the shard of the group, which counts the outcome. n is the number
// of the record, or nil.
func (sh *shard) applyBody(owner *shard, g *group, pos wal.Pos, n *numbers.Numbered, h runHeader) error {
	if g.seen(pos) {
		if n != nil {
			n.Table.Refuse(n.Number, numbers.Refusal{Why: numbers.WhyForgotten})
		}
		return nil
	}
	var o outcome
	if n != nil {
		o.keep = numbers.MaxRefused + 1
	}
	b := &sh.batch
	b.Reset()
	r := record.Reader{Rest: h.body}
	switch h.kind {
	case runSamples:
		st, index := sh.readSamples(&r, g, h.at)
		if r.Err == nil {
			sh.applySamples(g, &st, index, &o)
		}
		for i := range o.first { // the answer names their series
			x := &o.first[i]
			b.samples = append(b.samples, sample{ref: g.ref(int(index[x.Index])), at: h.at})
			x.Index = i
		}
	case runCommand:
		flags := readCommand(&r, g, h.at, b)
		if r.Err == nil && len(b.samples) > 0 {
			sh.applyCommand(g, b, 0, uint32(len(b.samples)), flags, &o)
		}
	case runFlush:
		index := int(r.Uvarint())
		if r.Err == nil {
			sh.applyAllHeld(g, index)
		}
	default:
		r.Fail()
	}
	if r.Err != nil {
		return recordError("samples", uint64(pos))
	}
	g.changed(pos)
	owner.stats.add(&o)
	if len(o.first) > 0 {
		n.Table.Refuse(n.Number, refusedSamples(b, o.first)...)
	}
	return nil
}

// The reorder window puts samples that come out of order into order. It is measured in the time of
// the samples, not by a clock: a sample is held until a sample of the same series is a window ahead
// of it. Held samples are part of the state of their group.

// maxHeld bounds the samples held for one series. One more lets the oldest go.
const maxHeld = 4096

// hold takes a sample into the window of the series at an index, and applies those that leave it.
// The error is *rra.TimeError if the sample is late, or if one of its time is held already.
func (sh *shard) hold(g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) error {
	if last := g.lastUpdate(index); at <= last {
		return &rra.TimeError{At: at, Last: last}
	}
	h := g.held[index]
	if h == nil {
		if g.held == nil {
			g.held = make(map[int]*held.Samples)
		}
		h = &held.Samples{}
		g.held[index] = h
	}
	i, found := h.Find(at)
	if found {
		return &rra.TimeError{At: at, Last: at}
	}
	x := held.NewSample(at, values, texts)
	h.List = slices.Insert(h.List, i, x)
	g.c.space.held.Add(1)
	g.c.space.Count(x.Size())
	until := h.Newest() - sh.reorder
	if len(h.List) > maxHeld {
		until = max(until, h.List[0].At)
	}
	sh.applyHeld(g, d, index, h, until)
	return nil
}

// applyHeld applies the held samples up to and including the time until.
func (sh *shard) applyHeld(g *group, d *definition, index int, h *held.Samples, until rra.Time) {
	n := 0
	for n < len(h.List) && h.List[n].At <= until {
		x := &h.List[n]
		// A held reading that does not parse was accepted before: nobody waits for this error.
		_ = sh.step(g, d, index, x.At, x.Values, x.Texts)
		g.c.space.Count(-x.Size())
		n++
	}
	g.c.space.held.Add(int64(-n))
	h.List = slices.Delete(h.List, 0, n)
	if len(h.List) == 0 {
		delete(g.held, index)
	}
}

// applyAllHeld applies every held sample of the series at an index.
func (sh *shard) applyAllHeld(g *group, index int) {
	h := g.held[index]
	if h == nil || g.usable(index) != nil {
		return
	}
	if d := g.definition(index); d != nil {
		sh.applyHeld(g, d, index, h, MaxTime)
	}
}
