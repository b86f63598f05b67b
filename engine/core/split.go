package core

import (
	"fmt"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
)

// A run is consecutive samples of a batch that belong to one group and have the same time and the
// same number of values. Or it is one update command: consecutive samples of one series.
type run struct {
	g        *group
	from, to uint32
	top      Ref  // the highest reference
	dense    bool // one reference behind the other: no sample need be looked at to know them
	command  bool // an update command, of several samples unless Update was called
	flags    byte // of the command
}

// MaxTime is the last time that a sample can have. The first one is as far before 1970.
const MaxTime = record.MaxTime

// maxText is the longest text of a reading. All of it is logged: rra keeps 29 characters, and
// counts with all.
const maxText = 4096

// checkValues returns an error if a log record cannot hold one of the values.
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

// check returns an error if a log record cannot hold the sample.
func (sm *sample) check(c *class) error {
	switch {
	case int(sm.n) > c.sources:
		return fmt.Errorf("%d values for %d data sources: %w", sm.n, c.sources, ErrShape)
	case sm.at > MaxTime || sm.at < -MaxTime:
		return invalid("the time %d is out of range", sm.at)
	}
	return nil
}

// groupOf returns the class and the group of a reference that was given to a series, whether or not
// the series is still there. A sample of another reference must not be logged: it would change a
// coding context that no checkpoint keeps.
func (a *appender) groupOf(ref Ref) (*class, *group, error) {
	if c := a.s.catalogue.class(ref.class()); c != nil && ref.number() < c.next.Load() {
		if g := c.group(ref.number()); g != nil {
			return c, g, nil
		}
	}
	return nil, nil, notFound(ref)
}

// split divides the samples of b into the runs of t. It refuses samples that no log record can
// hold, and leaves out the samples behind them in the same update command.
func (a *appender) split(t *Ticket, b *Batch) {
	odd := b.checkValues(b.values) != nil
	var r *run
	broken := false // the command of the sample before is at its end
	for i := 0; i < len(b.samples); i++ {
		sm := &b.samples[i]
		if broken = broken && sm.more; broken {
			continue
		}
		c, g, err := a.groupOf(sm.ref)
		if err == nil {
			err = sm.check(c)
		}
		if err == nil && odd {
			err = b.checkValues(b.values[sm.first : sm.first+uint32(sm.n)])
		}
		if err != nil {
			if sm.more && r != nil {
				r.flags = commandStopped
			}
			t.result.reject(i, err)
			r, broken = nil, true
			continue
		}
		if r != nil && sm.more {
			t.runs = r.extend(t.runs)
			r = &t.runs[len(t.runs)-1]
			continue
		}
		t.runs = append(t.runs, run{g: g, from: uint32(i), to: uint32(i + 1), top: sm.ref, dense: true})
		r = &t.runs[len(t.runs)-1]
		if !odd && !c.seasonal { // in seasonal classes every sample is a command
			i += r.take(b.samples[i:], c.refAt(g.id, 0), makeRef(c.id, min((g.id+1)<<c.shift, c.next.Load())))
		}
	}
}

// take adds to a run of the first of some samples those behind it that belong to it, whose
// references are from one on and below another. It returns how many. It calls nothing, so that the
// compiler keeps all in registers.
func (r *run) take(samples []sample, from, below Ref) int {
	n, top, dense := 1, r.top, true
	first := &samples[0]
	for n < len(samples) {
		sm := &samples[n]
		if sm.ref < from || sm.ref >= below || sm.at != first.at || sm.n != first.n || sm.more {
			break
		}
		dense = dense && sm.ref == first.ref+Ref(n)
		top = max(top, sm.ref)
		n++
	}
	r.to, r.top, r.dense = r.from+uint32(n), top, dense
	return n - 1
}

// extend puts the next sample of the batch into one command with the last sample of r. r is the
// last of runs.
func (r *run) extend(runs []run) []run {
	if r.to-r.from > 1 && !r.command {
		r.to--
		runs = append(runs, run{g: r.g, from: r.to, to: r.to + 1, top: r.top})
		r = &runs[len(runs)-1]
	}
	r.command, r.dense = true, false
	r.to++
	return runs
}

// The flags of a command are part of the format.
const (
	commandSkipLate = 1
	commandStopped  = 2
)

// asUpdate makes r the run of an update command with the options of b.
func (r *run) asUpdate(b *Batch) {
	r.command = true
	if b.SkipPast {
		r.flags |= commandSkipLate
	}
	if b.Stopped {
		r.flags |= commandStopped
	}
}
