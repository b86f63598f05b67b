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

// applySamples applies the samples [from, to) of b to g, and counts their outcome in o. Plain
// ones of one time step together, in blocks. The caller holds g.mu.
func (sh *shard) applySamples(g *group, b *Batch, from, to uint32, o *outcome) {
	// Without a window, samples that an earlier window held go first.
	holds := sh.reorder != 0 || len(g.held) > 0
	blocks := g.c.tabular && !holds
	sh.reach = rra.BlockSeries
	for from < to {
		if blocks {
			from = sh.applyBlock(g, b, from, to, o)
		}
		if from < to {
			sh.applyOdd(g, b, from, o)
			from++
		}
	}
}

// applyBlock applies the samples of b from one on that can step together, in one block or in
// several. It returns the first one that must be applied by itself.
func (sh *shard) applyBlock(g *group, b *Batch, from, to uint32, o *outcome) uint32 {
	bl := &sh.block
	for from < to {
		at := b.samples[from].at
		bl.Begin(g.table(), at)
		for from < to && bl.Len() < rra.BlockSeries && b.samples[from].at == at {
			d, n := sh.plain(g, b.samples[from:min(to, from+uint32(min(sh.reach, rra.BlockSeries-bl.Len())))])
			if n == 0 {
				break
			}
			first := b.samples[from].first
			taken, texts := bl.Take(d.m, sh.index[:n], b.values[first:first+uint32(n*d.values)], b.texts)
			for _, t := range texts {
				g.setText(int(t.Index), t.Texts)
			}
			from += uint32(taken)
			if taken < n {
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
	return from
}

// plain returns how many samples, from the first on, are of series of one definition that nothing
// is the matter with. Their indices are in sh.index then, and their values one behind the other.
func (sh *shard) plain(g *group, samples []sample) (*definition, int) {
	c := g.c
	first, at, n := samples[0].first, samples[0].at, samples[0].n
	i := c.index(samples[0].ref.number())
	if !g.alive(i) {
		return nil, 0
	}
	d := g.definition(i)
	if d == nil || int(n) != d.values {
		return nil, 0
	}
	flags := g.flags[:g.n]
	defs, id, mask := g.defs[:len(flags)], d.id, uint32(1)<<c.shift-1
	list, taken := sh.index[:min(len(samples), len(sh.index))], 0
	for j := range list {
		sm := &samples[j]
		index := int(sm.ref.number() & mask)
		if index >= len(flags) || flags[index] != flagAlive || defs[index] != id || sm.first != first || sm.at != at || sm.n != n {
			break
		}
		first += uint32(n)
		list[j] = int32(index)
		taken++
	}
	if len(g.refused) > 0 {
		if j := slices.IndexFunc(list[:taken], func(i int32) bool { return g.refused[int(i)] != nil }); j >= 0 {
			taken = j
		}
	}
	return d, taken
}

// applyOdd applies a sample that does not step together with others.
func (sh *shard) applyOdd(g *group, b *Batch, i uint32, o *outcome) {
	sm := &b.samples[i]
	index := g.c.index(sm.ref.number())
	if !g.alive(index) {
		o.reject(int(i), ErrNotFound)
		return
	}
	if err := g.refused[index]; err != nil {
		o.reject(int(i), err)
		return
	}
	d := g.definition(index)
	if d == nil {
		o.reject(int(i), record.ErrParse)
		return
	}
	if err := sh.applyOne(g, d, index, sm.at, b.values[sm.first:sm.first+uint32(sm.n)], b.texts); err != nil {
		o.reject(int(i), err)
		return
	}
	o.accepted++
}

// applyOne applies a sample that is not plain: it holds the sample back if there is a reorder
// window, or earlier samples of the series are held. The caller holds g.mu.
func (sh *shard) applyOne(g *group, d *definition, index int, at rra.Time, values []rra.Value, texts []string) error {
	if len(values) != d.values {
		return fmt.Errorf("%d values for %d data sources: %w", len(values), d.values, ErrShape)
	}
	if sh.reorder != 0 || g.held[index] != nil {
		return sh.hold(g, d, index, at, values, texts)
	}
	return sh.step(g, d, index, at, values, texts, nil)
}

// A command is one update command: samples of one series, applied in turn.
type command struct {
	flags byte
	trace func([]rra.Run)
}

// applyCommand applies the samples [from, to) of b, all of one series, as one update command: the
// first sample that is refused ends it. The caller holds g.mu.
func (sh *shard) applyCommand(g *group, b *Batch, from, to uint32, cmd command, o *outcome) {
	index := g.c.index(b.samples[from].ref.number())
	if !g.alive(index) {
		o.reject(int(from), ErrNotFound)
		return
	}
	if err := g.refused[index]; err != nil {
		o.reject(int(from), err)
		return
	}
	d := g.definition(index)
	if d == nil {
		o.reject(int(from), record.ErrParse)
		return
	}
	stopped := cmd.flags&commandStopped != 0
	for i := from; i < to; i++ {
		sm := &b.samples[i]
		values := b.values[sm.first : sm.first+uint32(sm.n)]
		var err error
		switch {
		case int(sm.n) != d.values:
			err = fmt.Errorf("%d values for %d data sources: %w", sm.n, d.values, ErrShape)
		case !g.c.seasonal && (sh.reorder != 0 || g.held[index] != nil):
			err = sh.hold(g, d, index, sm.at, values, b.texts)
		default:
			err = sh.step(g, d, index, sm.at, values, b.texts, cmd.trace)
		}
		if err != nil {
			if _, late := errors.AsType[*rra.TimeError](err); late && cmd.flags&commandSkipLate != 0 {
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

// follow moves the applied coding context of g over the samples [from, to) of a batch, as decoding
// their record would.
func (g *group) follow(b *Batch, from, to uint32) {
	c := g.c
	if c.sources == 1 {
		g.followOne(b.samples[from:to], b.values)
		return
	}
	for i := from; i < to; i++ {
		sm := &b.samples[i]
		at := c.index(sm.ref.number()) * c.sources
		for j := range uint32(sm.n) {
			v := &b.values[sm.first+j]
			if v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
				g.ctx[at+int(j)] = v.Bits
				g.ctxTag[at+int(j)] = uint8(v.Tag)
			}
		}
	}
}

// followOne is follow for a class of one data source.
func (g *group) followOne(samples []sample, values []rra.Value) {
	mask := uint32(1)<<g.c.shift - 1
	ctx := g.ctx
	tags := g.ctxTag[:len(ctx)]
	for i := range samples {
		sm := &samples[i]
		if sm.n == 0 {
			continue
		}
		v := &values[sm.first]
		if v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
			at := sm.ref.number() & mask
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
		readSamples(&r, g, h.at, b)
		if r.Err == nil {
			sh.applySamples(g, b, 0, uint32(len(b.samples)), &o)
		}
	case runCommand:
		_, flags := readCommand(&r, g, h.at, b)
		if r.Err == nil && len(b.samples) > 0 {
			sh.applyCommand(g, b, 0, uint32(len(b.samples)), command{flags: flags}, &o)
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
