package core

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
)

// ErrDamaged says that stored bytes are not those that were written, or that some are missing. What
// the call asked for is lost or unknown; the rest of the store stays readable. Every error that
// matches ErrDamaged wraps a *DamageError, which names the place, or says which command mends the
// store.
var ErrDamaged = damage.ErrDamaged

// A DamageError names damaged bytes of the database and what is lost with them. Its fields are
//
//	Bucket string // bucket of the database; empty: the pages of the file
//	Key    []byte // key of the damaged value; nil: the bucket as a whole
//	Place  string // the place in words, such as group and slot of a row block; may be empty
//	Series string // path of the series that the bytes belong to; empty: unknown, or several
//	Step, From, To int64 // lost: the rows of Step seconds that end after From, at To or before it
//	Err    error  // what is wrong with the bytes
//
// From and To are in seconds since 1970. Step, From and To are 0 if the value holds no rows.
type DamageError = damage.Error

// damagedRows returns damage of one column of a row block, or of the whole block if column is -1,
// and notes it. The caller holds no lock.
func (l *loader) damagedRows(tx *boltfile.Tx, g *group, stream int, slot int64, sub uint16, column int, err error) *DamageError {
	e := damage.InValue(bucketRows, rowblock.Key(nil, g.c.id, stream, slot, sub, g.id), err)
	e.Place = fmt.Sprintf("class %d, stream %d, slot %d, sub-block %d, group %d", g.c.id, stream, slot, sub, g.id)
	loseSlot(e, &g.c.streams[stream], slot)
	if column >= 0 {
		e.Place += fmt.Sprintf(", column %d", column)
		e.Series = l.s.catalogue.pathOf(tx, g.c, g.id, column/g.c.sources)
	}
	l.s.damage.Note(e)
	return e
}

// damagedState returns damage of the state record of a group, and notes it.
func (l *loader) damagedState(g *group, err error) *DamageError {
	e := damage.InValue(bucketState, g.stateKey(), err)
	if page, ok := errors.AsType[*DamageError](err); ok {
		e.Err = page.Err
	}
	e.Place = fmt.Sprintf("class %d, group %d", g.c.id, g.id)
	l.s.damage.Note(e)
	return e
}

// loseSlot notes in e that the rows of a slot are lost.
func loseSlot(e *DamageError, st *rowblock.Geometry, slot int64) {
	e.Step, e.From, e.To = st.Span, (slot*st.Slot-1)*st.Span, ((slot+1)*st.Slot-1)*st.Span
}

// A state record holds up to 256 series. Where the state of one series does not fit its definition
// or cannot be stepped, that state is refused, and the other series stay in use. The group
// remembers the refused series with the reason. Nobody reads the series or appends to it.
// Checkpoints write its state back unchanged, until the series is dropped or overwritten.

// refuse notes that the state of the series at index i cannot be used.
func (g *group) refuse(i int, err error) {
	if g.refused == nil {
		g.refused = make(map[int]error)
	}
	g.refused[i] = &DamageError{
		Bucket: string(bucketState), Key: g.stateKey(),
		Place: fmt.Sprintf("series %d of group %d of class %d", i, g.id, g.c.id), Err: err,
	}
}

// usable returns why the series at index i cannot be used: it does not exist, or its state is
// refused.
func (g *group) usable(i int) error {
	if !g.alive(i) {
		return notFound(g.ref(i))
	}
	return g.refused[i]
}

// withPath names the series of ref in err, if that is damage that names none. The caller holds no
// lock.
func (s *Store) withPath(ref Ref, err error) error {
	e, ok := errors.AsType[*DamageError](err)
	if !ok || e.Series != "" {
		return err
	}
	named := *e
	named.Series = s.catalogue.recordOr(ref).path
	return &named
}

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
	for i, h := range g.held {
		if !g.alive(i) {
			return false
		}
		if !h.Valid(g.c.sources) {
			g.refuse(i, errHeld)
		}
	}
	return g.dir.Valid()
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
