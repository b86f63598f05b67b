package core

import (
	"errors"
	"fmt"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
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
		e.Series = l.catalogue.pathOf(tx, g.c, g.id, column/g.c.sources)
	}
	l.damage.Note(e)
	return e
}

// damagedLag returns damage of a record of the bucket lag, and notes it. The caller holds no lock.
func (l *loader) damagedLag(tx *boltfile.Tx, g *group, column, stream int, slot int64, err error) *DamageError {
	e := damage.InValue(bucketLag, lagKey(g, column, stream, slot), err)
	e.Place = fmt.Sprintf("class %d, stream %d, slot %d, group %d, column %d", g.c.id, stream, slot, g.id, column)
	loseSlot(e, &g.c.streams[stream], slot)
	e.Series = l.catalogue.pathOf(tx, g.c, g.id, column/g.c.sources)
	l.damage.Note(e)
	return e
}

// damagedState returns damage of the state record of a group, and notes it.
func (l *loader) damagedState(g *group, err error) *DamageError {
	e := damage.InValue(bucketState, g.stateKey(), err)
	if page, ok := errors.AsType[*DamageError](err); ok {
		e.Err = page.Err
	}
	e.Place = fmt.Sprintf("class %d, group %d", g.c.id, g.id)
	l.damage.Note(e)
	return e
}

// loseSlot notes in e that the rows of a slot are lost.
func loseSlot(e *DamageError, st *rowblock.Geometry, slot int64) {
	e.Step, e.From, e.To = st.Span, (slot*st.Slot-1)*st.Span, ((slot+1)*st.Slot-1)*st.Span
}
