package core

import (
	"errors"

	"github.com/rondo-db/rondo/rra"
)

// A lostSeries is a series of a group whose state is made anew, and that the log has not all of.
// Its state is to begin at the newest time that is known of it.
type lostSeries struct {
	d      *definition
	newest rra.Time // of a stored row, or of a sample that the series has taken
}

// sawLost notes the samples [from, to) of b for a series that is not in the group, while a repair
// makes its state anew. A command ends with the first sample that is refused. The caller holds
// g.mu.
func (g *group) sawLost(i int, b *Batch, from, to uint32, flags byte) {
	l := g.lost[i]
	if l == nil {
		return
	}
	for j := from; j < to; j++ {
		sm := &b.samples[j]
		switch {
		case sm.at <= l.newest:
			if flags&commandSkipLate == 0 {
				return
			}
		case !l.takes(sm.at, b.values[sm.first:sm.first+uint32(sm.n)], b.texts):
			return
		default:
			l.newest = sm.at
		}
	}
}

// takes says whether the series has taken a sample that came after its last update. The numbers in
// it are not known, since each is coded against the one before; a text is.
func (l *lostSeries) takes(at rra.Time, values []rra.Value, texts []string) bool {
	if len(values) != l.d.values {
		return false
	}
	sound := make([]rra.Value, len(values))
	read := make([]rra.Value, len(values))
	for i, v := range values {
		sound[i], read[i] = rra.Int(0), v
		if v.Tag != rra.TagUnknown && v.Tag < rra.TagText {
			read[i] = rra.Int(0)
		}
	}
	// Some kinds look at a reading only if there was one before.
	m := l.d.m
	st := rra.State{W: make([]uint64, m.Words())}
	m.Init(st.W, at-rra.Seconds(2))
	if before := at - rra.Seconds(1); before > m.LastUpdate(st.W) {
		if _, err := m.Step(&st, before, sound, nil, nil); err != nil {
			return true // of an expression: the numbers decide
		}
	}
	_, err := m.Step(&st, at, read, texts, nil)
	e, unread := errors.AsType[*rra.ValueError](err)
	return !unread || m.Definition().Sources[e.DS].Kind == rra.Compute
}
