package core

import (
	"encoding/binary"
	"errors"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A coding context of a group holds the last value logged of each data source: the next value is
// coded against it. It runs ahead of the context in the group's arrays (ctx), which is of what was
// applied.

// prepareContext makes room in the coding context of g for the series at index. That series may be
// on its way to the group still: its creation is in the log, so what is coded now comes behind it.
// A context of an earlier epoch follows what is applied. The caller holds mu.
func (a *appender) prepareContext(g *group, index int) error {
	if g.encReady && g.encEpoch == a.epoch && len(g.encTag) > index*g.c.sources {
		return nil
	}
	if err := a.s.loader.lockGroup(g); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if n := g.roomFor(index+1) * g.c.sources; n > len(g.encTag) {
		mem := g.c.space.Alloc(9 * n)
		enc, tag := memory.View[uint64](mem, n), mem[8*n:9*n]
		copy(enc, g.enc)
		copy(tag, g.encTag)
		g.c.space.Release(g.encMem)
		g.encMem, g.enc, g.encTag = mem, enc, tag
	}
	if !g.encReady || g.encEpoch != a.epoch {
		clear(g.enc[copy(g.enc, g.ctx):])
		clear(g.encTag[copy(g.encTag, g.ctxTag):])
		g.encReady, g.encEpoch = true, a.epoch
	}
	return nil
}

// maxValueBytes bounds the code of a value without its text.
const maxValueBytes = 12

// bound returns an upper bound of the code of a run.
func (r *run) bound(b *Batch) int {
	n := int(r.to-r.from) * (r.g.c.sources*maxValueBytes + 32)
	if len(b.texts) == 0 {
		return n
	}
	for i := range b.samples[r.from:r.to] {
		sm := &b.samples[int(r.from)+i]
		for _, v := range b.values[sm.first : sm.first+uint32(sm.n)] {
			if v.Tag >= rra.TagText {
				n += len(b.texts[v.Bits])
			}
		}
	}
	return n
}

// prepareRuns readies the coding contexts of all runs of t, so that appendRuns cannot fail half
// way. It refuses samples of groups whose state is damaged. The caller holds mu.
func (a *appender) prepareRuns(t *Ticket) error {
	kept := t.runs[:0]
	for i := range t.runs {
		r := &t.runs[i]
		if r.bound(t.batch) >= 1<<24 {
			return invalid("%d samples of one group and time in one batch are too many", r.to-r.from)
		}
		err := a.prepareContext(r.g, r.g.c.index(r.top.number()))
		switch {
		case err == nil:
			kept = append(kept, *r)
		case t.update || !errors.Is(err, ErrDamaged):
			return err
		default:
			for j := r.from; j < r.to; j++ {
				t.result.reject(int(j), err)
			}
		}
	}
	t.runs = kept
	return nil
}

// appendRuns codes samples of b, whose runs prepareRuns has readied, as one record. The caller
// holds the appender's mu.
func appendRuns(dst []byte, b *Batch, runs []run) []byte {
	dst = append(dst, record.KindSamples)
	var base rra.Time
	for i := range runs {
		r := &runs[i]
		g := r.g
		samples := b.samples[r.from:r.to]
		kind := uint64(runSamples)
		if g.c.seasonal || r.command {
			kind = runCommand
		}
		dst = binary.AppendUvarint(dst, uint64(g.c.id)<<2|kind)
		dst = binary.AppendUvarint(dst, uint64(g.id))
		dst = record.AppendTime(dst, samples[0].at, base)
		base = samples[0].at
		at := len(dst)
		dst = append(dst, 0, 0, 0) // length of the body
		if kind == runCommand {
			dst = appendCommand(dst, g, b, samples, r.flags)
		} else {
			dst = appendSamples(dst, g, b, samples, r.dense)
		}
		putLength(dst[at:])
	}
	return dst
}

// putLength writes the length of what follows into the first three bytes of b.
func putLength(b []byte) {
	n := len(b) - 3
	b[0], b[1], b[2] = byte(n), byte(n>>8), byte(n>>16)
}

// appendSamples codes samples of one time: how many values a sample has, the indices as ranges
// (their number, then first index and length of each), the values.
func appendSamples(dst []byte, g *group, b *Batch, samples []sample, dense bool) []byte {
	c := g.c
	n := int(samples[0].n)
	dst = binary.AppendUvarint(dst, uint64(n))
	ranges := 1
	for i := 1; i < len(samples) && !dense; i++ {
		if samples[i].ref != samples[i-1].ref+1 {
			ranges++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(ranges))
	for i := 0; i < len(samples); {
		j := i + 1
		for j < len(samples) && (dense || samples[j].ref == samples[j-1].ref+1) {
			j++
		}
		first := c.index(samples[i].ref.number())
		dst = binary.AppendUvarint(dst, uint64(first))
		dst = binary.AppendUvarint(dst, uint64(j-i))
		i = j
	}
	if dense && n == c.sources {
		return g.appendValues(dst, b, &samples[0], n*len(samples))
	}
	for i := range samples {
		dst = g.appendValues(dst, b, &samples[i], n)
	}
	return dst
}

// appendValues codes n values: what a sample has, then what is of the series behind its own.
func (g *group) appendValues(dst []byte, b *Batch, sm *sample, n int) []byte {
	at := g.c.index(sm.ref.number()) * g.c.sources
	return record.AppendValues(dst, b.values[sm.first:][:n], b.texts, g.enc[at:][:n], g.encTag[at:][:n])
}

// appendCommand codes one update command: index, flags, number of samples; for each sample how many
// values it has, its time, its values.
func appendCommand(dst []byte, g *group, b *Batch, samples []sample, flags byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(g.c.index(samples[0].ref.number())))
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(samples)))
	base := samples[0].at
	for i := range samples {
		sm := &samples[i]
		dst = binary.AppendUvarint(dst, uint64(sm.n))
		dst = record.AppendTime(dst, sm.at, base)
		base = sm.at
		dst = g.appendValues(dst, b, sm, int(sm.n))
	}
	return dst
}

// A record of samples is runs: samples of one group at one time, or one update command for one
// series. Values are coded against the last logged value of their source, accepted or not, which is
// part of the group's state.

// The kinds of runs are part of the format.
const (
	runSamples = 0 // samples at one time
	runCommand = 1 // an update command: samples of one series, then its end
	runFlush   = 2 // let the held samples of one series go
)

// readRun reads the next run of a samples record; base is the time of the one before.
func readRun(r *record.Reader, base rra.Time) runHeader {
	u := r.Uvarint()
	h := runHeader{kind: u & 3, class: uint32(u >> 2), group: uint32(r.Uvarint()), at: r.Time(base)}
	if n := r.Bytes(3); n != nil {
		h.body = r.Bytes(uint64(n[0]) | uint64(n[1])<<8 | uint64(n[2])<<16)
	}
	return h
}

// readSamples decodes the body of a run, and returns the indices of its series. The caller holds
// g.mu and gives the applied context, which moves on.
func (sh *shard) readSamples(r *record.Reader, g *group, at rra.Time) (st stretch, index []int32) {
	n, ranges := r.Uvarint(), r.Uvarint()
	if n > uint64(g.c.sources) || ranges > uint64(len(r.Rest)) {
		r.Fail()
		return st, nil
	}
	index = sh.index[:0]
	for range ranges {
		first, count := r.Uvarint(), r.Uvarint()
		if r.Err != nil || first+count > uint64(g.capacity) || first+count < first || len(index)+int(count) > 1<<20 {
			r.Fail()
			return st, nil
		}
		index = append(index, ascending[first:first+count]...)
	}
	sh.index = index
	b, each := &sh.batch, int(n)
	for _, i := range index {
		g.readValues(r, b, int(i), each)
	}
	return stretch{at: at, each: each, values: b.values, texts: b.texts}, index
}

// readValues decodes n values of the series at an index into b.
func (g *group) readValues(r *record.Reader, b *Batch, index, n int) {
	k := index * g.c.sources
	ctx, tags := g.ctx[k:][:n], g.ctxTag[k:][:n]
	for j := range ctx {
		b.values = append(b.values, r.Value(&b.texts, &ctx[j], &tags[j]))
	}
}

// readCommand decodes the body of a command run into b.
func readCommand(r *record.Reader, g *group, at rra.Time, b *Batch) (flags byte) {
	c := g.c
	index := int(r.Uvarint())
	flags = r.Byte()
	count := r.Uvarint()
	if r.Err != nil || index < 0 || index >= g.capacity || count > uint64(len(r.Rest)) {
		r.Fail()
		return 0
	}
	ref := g.ref(index)
	for range count {
		n := r.Uvarint()
		at = r.Time(at)
		if n > uint64(c.sources) {
			r.Fail()
			return flags
		}
		b.samples = append(b.samples, sample{ref: ref, at: at, first: uint32(len(b.values)), n: uint16(n)})
		g.readValues(r, b, index, int(n))
	}
	return flags
}
