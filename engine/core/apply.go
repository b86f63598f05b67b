package core

import (
	"errors"
	"fmt"
	"slices"

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

// indices returns the indices of the series of a run, sample by sample. They hold until the next
// call.
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

// applySamples applies samples of b to g, and counts their outcome in o: a run from the sample from
// on, whose series are at the given indices. Plain ones step together, in blocks. The caller holds
// g.mu.
func (sh *shard) applySamples(g *group, b *Batch, from uint32, index []int32, o *outcome) {
	// Without a window, samples that an earlier window held go first.
	holds := sh.reorder != 0 || len(g.held) > 0
	blocks := g.c.tabular && !holds
	sh.reach = rra.BlockSeries
	for n := 0; n < len(index); n++ {
		if blocks {
			n += sh.applyBlock(g, b, from+uint32(n), index[n:], o)
		}
		if n < len(index) {
			sh.applyOdd(g, b, from+uint32(n), int(index[n]), o)
		}
	}
}

// applyBlock applies samples of b from one on that can step together, in one block or in several.
// It returns how many: the one behind them must be applied by itself.
func (sh *shard) applyBlock(g *group, b *Batch, from uint32, index []int32, o *outcome) (n int) {
	bl, first := &sh.block, b.samples[from] // all have the same time and as many values
	values := b.values[first.first:]
	for n < len(index) {
		bl.Begin(g.table(), first.at)
		for n < len(index) && bl.Len() < rra.BlockSeries {
			d, list := g.plain(int(first.n), index[n:min(len(index), n+sh.reach, n+rra.BlockSeries-bl.Len())])
			if len(list) == 0 {
				break
			}
			taken, texts := bl.Take(d.m, list, values[n*d.values:(n+len(list))*d.values], b.texts)
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
	return n
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

// applyOdd applies a sample that does not step together with others.
func (sh *shard) applyOdd(g *group, b *Batch, i uint32, index int, o *outcome) {
	d, err := g.taking(index)
	if err == nil {
		err = sh.applyOne(g, d, index, b, i)
	}
	if err != nil {
		o.reject(int(i), err)
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

// applyOne applies sample i of b. It holds the sample back if there is a reorder window, or earlier
// samples of the series are held. The caller holds g.mu.
func (sh *shard) applyOne(g *group, d *definition, index int, b *Batch, i uint32) error {
	sm := &b.samples[i]
	values := b.values[sm.first : sm.first+uint32(sm.n)]
	switch {
	case len(values) != d.values:
		return fmt.Errorf("%d values for %d data sources: %w", len(values), d.values, ErrShape)
	case !g.c.seasonal && (sh.reorder != 0 || g.held[index] != nil):
		return sh.hold(g, d, index, sm.at, values, b.texts)
	}
	return sh.step(g, d, index, sm.at, values, b.texts)
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
		if err := sh.applyOne(g, d, index, b, i); err != nil {
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

// follow moves the applied coding context of g over samples of a batch, whose series are at the
// given indices, as decoding their record would.
func (g *group) follow(index []int32, samples []sample, values []rra.Value) {
	n := g.c.sources
	last := samples[len(samples)-1]
	if all := values[samples[0].first : last.first+uint32(last.n)]; n == 1 && len(all) == len(index) {
		g.followOne(index, all)
		return
	}
	for i := range samples {
		sm, at := &samples[i], int(index[i])*n
		for j, v := range values[sm.first : sm.first+uint32(sm.n)] {
			if v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
				g.ctx[at+j], g.ctxTag[at+j] = v.Bits, uint8(v.Tag)
			}
		}
	}
}

// followOne is follow for one value of each series.
func (g *group) followOne(index []int32, values []rra.Value) {
	ctx := g.ctx
	tags := g.ctxTag[:len(ctx)]
	for j, at := range index[:len(values)] {
		if v := &values[j]; v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
			ctx[at], tags[at] = v.Bits, uint8(v.Tag)
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
		dense := readSamples(&r, g, h.at, b)
		if r.Err == nil && len(b.samples) > 0 {
			sh.applySamples(g, b, 0, sh.indices(g, b.samples, dense), &o)
		}
	case runCommand:
		_, flags := readCommand(&r, g, h.at, b)
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
