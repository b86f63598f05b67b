package core

import (
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
)

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

// readSamples decodes the body of a run into b. The caller holds g.mu and gives the
// applied context, which moves on.
func readSamples(r *record.Reader, g *group, at rra.Time, b *Batch) {
	c := g.c
	n := r.Uvarint()
	ranges := r.Uvarint()
	if n > uint64(c.sources) || ranges > uint64(len(r.Rest)) {
		r.Fail()
		return
	}
	from := len(b.samples)
	for range ranges {
		first, count := r.Uvarint(), r.Uvarint()
		if r.Err != nil || first+count > uint64(g.capacity) || first+count < first || len(b.samples)-from+int(count) > 1<<20 {
			r.Fail()
			return
		}
		for i := range count {
			b.samples = append(b.samples, sample{ref: g.ref(int(first + i)), at: at, n: uint16(n)})
		}
	}
	for i := from; i < len(b.samples); i++ {
		sm := &b.samples[i]
		sm.first = uint32(len(b.values))
		k := c.index(sm.ref.number()) * c.sources
		for j := range int(n) {
			b.values = append(b.values, r.Value(&b.texts, &g.ctx[k+j], &g.ctxTag[k+j]))
		}
	}
}

// readCommand decodes the body of a command run into b.
func readCommand(r *record.Reader, g *group, at rra.Time, b *Batch) (index int, flags byte) {
	c := g.c
	index = int(r.Uvarint())
	flags = r.Byte()
	count := r.Uvarint()
	if r.Err != nil || index < 0 || index >= g.capacity || count > uint64(len(r.Rest)) {
		r.Fail()
		return 0, 0
	}
	ref := g.ref(index)
	for range count {
		n := r.Uvarint()
		at = r.Time(at)
		if n > uint64(c.sources) {
			r.Fail()
			return index, flags
		}
		b.samples = append(b.samples, sample{ref: ref, at: at, first: uint32(len(b.values)), n: uint16(n)})
		for j := range int(n) {
			k := index*c.sources + j
			b.values = append(b.values, r.Value(&b.texts, &g.ctx[k], &g.ctxTag[k]))
		}
	}
	return index, flags
}
