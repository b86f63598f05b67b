package core

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A run is consecutive samples of a batch that belong to one group, at one time
// and with one number of values; or one update command.
type run struct {
	g        *group
	from, to uint32
	top      Ref  // the highest reference
	command  bool // an update command of several samples
	stopped  bool // the command ends in an error behind its samples
}

// MaxTime is the last time that a sample can have. The first one is as far before 1970.
const MaxTime = record.MaxTime

// checkValues refuses values that no log record can hold.
func (b *Batch) checkValues(values []rra.Value) error {
	for i := range values {
		v := &values[i]
		switch {
		case v.Tag < rra.TagText:
		case v.Tag > rra.TagInvalid:
			return invalid("value %d has the tag %d, which does not exist", i, v.Tag)
		case v.Bits >= uint64(len(b.texts)):
			return invalid("value %d refers to text %d of %d", i, v.Bits, len(b.texts))
		case len(b.texts[v.Bits]) > maxText:
			return invalid("value %d is a text of %d bytes: longer than %d", i, len(b.texts[v.Bits]), maxText)
		}
	}
	return nil
}

// check refuses a sample that no log record can hold.
func (sm *sample) check(c *class) error {
	switch {
	case int(sm.n) > c.sources:
		return fmt.Errorf("%d values for %d data sources: %w", sm.n, c.sources, ErrShape)
	case sm.at > MaxTime || sm.at < -MaxTime:
		return invalid("the time %d is out of range", sm.at)
	}
	return nil
}

// groupOf returns the class and the group of a reference that was given to a series, be it alive or not. A sample of another
// reference must not be logged: it would move a coding context that belongs to nobody and that no checkpoint keeps.
func (s *Store) groupOf(ref Ref) (*class, *group, error) {
	if c := s.class(ref.class()); c != nil && ref.number() < c.next.Load() {
		if g := c.group(ref.number()); g != nil {
			return c, g, nil
		}
	}
	return nil, nil, notFound(ref)
}

// split divides the samples of t's batch into runs. Samples that no log record can hold are refused here, and those behind
// them in one update command are left out.
func (s *Store) split(t *Ticket, b *Batch) {
	odd := b.checkValues(b.values) != nil
	var r *run
	var first *sample   // of r
	var from, below Ref // the references of r's group that a sample may have to belong to r
	broken := false     // the command of the sample before is at its end
	for i := range b.samples {
		sm := &b.samples[i]
		if !odd && r != nil && sm.ref >= from && sm.ref < below && sm.at == first.at && sm.n == first.n && !sm.more {
			r.to++
			r.top = max(r.top, sm.ref)
			continue
		}
		if broken = broken && sm.more; broken {
			continue
		}
		c, g, err := s.groupOf(sm.ref)
		if err == nil {
			err = sm.check(c)
		}
		if err == nil && odd {
			err = b.checkValues(b.values[sm.first : sm.first+uint32(sm.n)])
		}
		if err != nil {
			if sm.more && r != nil {
				r.stopped = true
			}
			t.result.reject(i, err)
			r, below, broken = nil, from, true
			continue
		}
		if r != nil && sm.more {
			t.runs = r.extend(t.runs)
			r, below = &t.runs[len(t.runs)-1], from
			continue
		}
		t.runs = append(t.runs, run{g: g, from: uint32(i), to: uint32(i + 1), top: sm.ref})
		r, first = &t.runs[len(t.runs)-1], sm
		from = makeRef(c.id, g.id<<c.shift)
		below = from // in seasonal classes every sample is a command
		if !c.seasonal {
			below = makeRef(c.id, min((g.id+1)<<c.shift, c.next.Load()))
		}
	}
}

// extend puts the next sample into one command with the last one of r, which is the last of runs.
func (r *run) extend(runs []run) []run {
	if r.to-r.from > 1 && !r.command {
		r.to--
		runs = append(runs, run{g: r.g, from: r.to, to: r.to + 1, top: r.top})
		r = &runs[len(runs)-1]
	}
	r.command = true
	r.to++
	return runs
}

// splitCommand makes one run of b, all of one series. A sample that no log record can hold ends the command; if it is
// the first, nothing is left.
func (s *Store) splitCommand(t *Ticket, b *Batch) {
	c, g, err := s.groupOf(b.samples[0].ref)
	if err != nil {
		t.result.reject(0, err)
		return
	}
	n := 0
	for ; n < len(b.samples); n++ {
		sm := &b.samples[n]
		err := sm.check(c)
		if err == nil {
			err = b.checkValues(b.values[sm.first : sm.first+uint32(sm.n)])
		}
		if err != nil {
			t.result.reject(n, err)
			t.cmd.flags |= commandStopped
			break
		}
	}
	if n > 0 {
		t.runs = append(t.runs, run{g: g, to: uint32(n), top: b.samples[0].ref})
	}
}

// prepareEncoder makes the coding context of g follow what is applied. The caller holds logMu.
func (s *Store) prepareEncoder(g *group, index int) error {
	if g.encReady && g.encEpoch == s.encoderEpoch && len(g.encTag) > index*g.c.sources {
		return nil
	}
	if err := s.lockGroup(g); err != nil {
		return err
	}
	defer g.mu.Unlock()
	if g.capacity*g.c.sources > len(g.encTag) {
		n := g.capacity * g.c.sources
		mem := g.c.space.Alloc(9 * n)
		enc, tag := memory.View[uint64](mem, n), mem[8*n:9*n]
		copy(enc, g.enc)
		copy(tag, g.encTag)
		g.c.space.Release(g.encMem)
		g.encMem, g.enc, g.encTag = mem, enc, tag
	}
	if !g.encReady || g.encEpoch != s.encoderEpoch {
		copy(g.enc, g.ctx)
		copy(g.encTag, g.ctxTag)
		g.encReady, g.encEpoch = true, s.encoderEpoch
	}
	if len(g.encTag) <= index*g.c.sources {
		return notFound(makeRef(g.c.id, g.id<<g.c.shift+uint32(index)))
	}
	return nil
}

// maxValueBytes bounds the code of a value without its text.
const maxValueBytes = 12

// maxText is the longest text of a reading. All of it is logged: rra keeps 29 characters, and counts with all.
const maxText = 4096

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

// prepareRuns makes sure that appendRuns cannot fail half way. Samples of groups whose state is damaged are refused. The
// caller holds logMu.
func (s *Store) prepareRuns(t *Ticket) error {
	kept := t.runs[:0]
	for i := range t.runs {
		r := &t.runs[i]
		if r.bound(t.batch) >= 1<<24 {
			return invalid("%d samples of one group and time in one batch are too many", r.to-r.from)
		}
		err := s.prepareEncoder(r.g, r.g.c.index(r.top.number()))
		switch {
		case err == nil:
			kept = append(kept, *r)
		case t.cmd != nil || !errors.Is(err, ErrDamaged):
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

// appendRuns codes the samples of b, which prepareRuns has seen, as one record. The caller holds logMu.
func (s *Store) appendRuns(dst []byte, b *Batch, runs []run) []byte {
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
			dst = s.appendCommand(dst, g, b, samples, r.flags())
		} else {
			dst = s.appendSamples(dst, g, b, samples)
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

// appendSamples codes samples at one time: values a sample, the indices as
// ranges (count, then first and length of each), the values.
func (s *Store) appendSamples(dst []byte, g *group, b *Batch, samples []sample) []byte {
	c := g.c
	n := int(samples[0].n)
	dst = binary.AppendUvarint(dst, uint64(n))
	ranges := 1
	for i := 1; i < len(samples); i++ {
		if samples[i].ref != samples[i-1].ref+1 {
			ranges++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(ranges))
	for i := 0; i < len(samples); {
		j := i + 1
		for j < len(samples) && samples[j].ref == samples[j-1].ref+1 {
			j++
		}
		first := c.index(samples[i].ref.number())
		dst = binary.AppendUvarint(dst, uint64(first))
		dst = binary.AppendUvarint(dst, uint64(j-i))
		i = j
	}
	if n == 1 && c.sources == 1 {
		mask := uint32(1)<<c.shift - 1
		for i := range samples {
			at := samples[i].ref.number() & mask
			dst = record.AppendValue(dst, b.values[samples[i].first], b.texts, &g.enc[at], &g.encTag[at])
		}
		return dst
	}
	for i := range samples {
		sm := &samples[i]
		at := c.index(sm.ref.number()) * c.sources
		values := b.values[sm.first : sm.first+uint32(n)]
		for j := range values {
			dst = record.AppendValue(dst, values[j], b.texts, &g.enc[at+j], &g.encTag[at+j])
		}
	}
	return dst
}

// The flags of a command are part of the format.
const (
	commandSkipLate = 1
	commandStopped  = 2
)

// flags are those of the command that r is.
func (r *run) flags() byte {
	if r.stopped {
		return commandStopped
	}
	return 0
}

// appendCommand codes one update command: index, flags, samples
// (values each, then time and values of each).
func (s *Store) appendCommand(dst []byte, g *group, b *Batch, samples []sample, flags byte) []byte {
	c := g.c
	index := c.index(samples[0].ref.number())
	dst = binary.AppendUvarint(dst, uint64(index))
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(samples)))
	base := samples[0].at
	for i := range samples {
		sm := &samples[i]
		dst = binary.AppendUvarint(dst, uint64(sm.n))
		dst = record.AppendTime(dst, sm.at, base)
		base = sm.at
		for j, v := range b.values[sm.first : sm.first+uint32(sm.n)] {
			at := index*c.sources + j
			dst = record.AppendValue(dst, v, b.texts, &g.enc[at], &g.encTag[at])
		}
	}
	return dst
}
