package core

import (
	"errors"

	"github.com/rondo-db/rondo/rra"
)

// valid reports whether a decoded state is safe to work with: a database may come from anywhere. It
// refuses the series whose own state is invalid, and the others stay in use.
func (g *group) valid() bool {
	for _, tag := range g.ctxTag[:g.n*g.c.sources] {
		if tag >= uint8(rra.TagText) {
			return false
		}
	}
	for i := range g.n {
		if !g.alive(i) {
			continue
		}
		if err := g.checkSeries(i); err != nil {
			g.refuse(i, err)
		}
	}
	for i := range g.texts {
		if !g.alive(i) {
			return false
		}
	}
	for at := range g.longRuns {
		if !g.alive(at / g.c.cols) {
			return false
		}
	}
	for i, h := range g.held {
		if !g.alive(i) {
			return false
		}
		if !h.Valid(g.c.sources) {
			g.refuse(i, errHeld)
		}
	}
	return g.dir.Valid(g.n)
}

// What can be wrong with a series of a state record.
var (
	errDefinition = errors.New("its definition is not one of its class")
	errFuture     = errors.New("its last update is out of range")
	errHeld       = errors.New("the samples that the reorder window holds are out of order or do not parse")
)

// checkSeries checks a state against its definition, if the definition is known. After a crash the
// catalogue may lack it until replay of the log adds it.
func (g *group) checkSeries(i int) error {
	d := g.definition(i)
	switch {
	case g.defs[i] == 0:
		return errDefinition
	case d == nil:
		return nil
	}
	if d.class != g.c {
		return errDefinition
	}
	st := g.state(i)
	if err := d.m.Check(&st); err != nil {
		return err
	}
	if d.m.LastUpdate(st.W) > MaxTime {
		return errFuture
	}
	g.setText(i, st.Text)
	return nil
}
