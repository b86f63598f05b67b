package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// A client of a store on another machine may miss the answer to a change. It makes the change again
// with the same number, of whatever store leads by then. The number stands in front of the record,
// and every store of the log keeps a table of the numbers that it has applied, with what was
// refused. A store that leads holds all of the log, and knows what it has logged itself: so it
// knows each number that is in the log. It answers a change whose number it knows behind a record
// that changes nothing, and with the outcome that the first attempt had.
//
// A checkpoint writes the table with the catalogue, and replay numbers what lies behind. Where a
// group of the database is ahead of that table, it is not known what was refused.

// A Number names a change among all of a partition. The zero Number names none.
type Number struct {
	Session uint64 // of the client, drawn at random for each of its lives; not 0
	N       uint64 // from 1 on; grows by one with each change of the session
}

// Plus returns the number of the change i places behind.
func (n Number) Plus(i int) Number {
	if n.Session != 0 {
		n.N += uint64(i)
	}
	return n
}

type numberKey struct{}

// WithNumber returns a context whose change has a number. The change may be made again with that
// number, of this store or of another one of the same log: it is done once and has one outcome, or
// an error that wraps ErrForgotten. Submit, Update, CreateBatch, Alter, Rename and AddNote
// know numbers; Import, Relabel and Drop use one for each part, from n on. Other changes do no harm
// again.
func WithNumber(ctx context.Context, n Number) context.Context {
	return context.WithValue(ctx, numberKey{}, n)
}

// NumberOf returns the number in a context, or the zero Number.
func NumberOf(ctx context.Context) Number {
	n, _ := ctx.Value(numberKey{}).(Number)
	return n
}

// ErrForgotten says that it is not known any more what became of an earlier attempt of a change. It
// wraps ErrUnavailable.
var ErrForgotten = fmt.Errorf("what became of an earlier attempt is not known any more: %w", ErrUnavailable)

// errClaimed says that an earlier attempt of a change has not come to its end.
var errClaimed = fmt.Errorf("an earlier attempt is under way: %w", ErrUnanswered)

// What a table keeps.
const (
	numberWindow = 1024 // numbers of a session
	maxSessions  = 64
	maxRefused   = 1024 // refusals of all numbers
	maxRefusal   = 256  // bytes of the text of one
)

// A refusal says why a part of a change was not done: a sample, or one of several series.
type refusal struct {
	ref  Ref
	at   rra.Time // of a sample
	last rra.Time // of whyLate
	why  uint64   // index of refusals
	text string   // of the error
}

// refusals are the errors that keep their identity in a refusal. Part of the format.
var refusals = []error{nil, nil, nil, ErrNotFound, ErrExists, ErrShape, ErrInvalid, ErrSeriesLimit}

const (
	whyForgotten = 1 // it is not known what was refused
	whyLate      = 2
)

func refusalOf(ref Ref, at rra.Time, err error) refusal {
	x := refusal{ref: ref, at: at}
	if late, ok := errors.AsType[*rra.TimeError](err); ok {
		x.why, x.last = whyLate, late.Last
		return x
	}
	x.text = err.Error()
	x.text = x.text[:min(len(x.text), maxRefusal)]
	for i := whyLate + 1; i < len(refusals); i++ {
		if errors.Is(err, refusals[i]) {
			x.why = uint64(i)
		}
	}
	return x
}

func (x *refusal) err() error {
	if x.why == whyLate {
		return &rra.TimeError{At: x.at, Last: x.last}
	}
	return &refusedError{x.text, refusals[min(x.why, uint64(len(refusals)-1))]}
}

// A refusedError is what an earlier attempt was refused with.
type refusedError struct {
	text string
	is   error
}

func (e *refusedError) Error() string { return e.text }
func (e *refusedError) Unwrap() error { return e.is }

// refusedSamples returns why samples of a batch were refused.
func refusedSamples(b *Batch, first []Rejection) (list []refusal) {
	for _, r := range first {
		list = append(list, refusalOf(b.samples[r.Index].ref, b.samples[r.Index].at, r.Err))
	}
	return list
}

// A numbers is the table of the numbers that a store has applied or logged.
type numbers struct {
	mu       sync.Mutex // guards what follows; taken last and alone
	sessions map[uint64]*session
	refused  map[Number][]refusal
	size     int // of refused
	uses     uint64
}

// A session is the newest numbers of one client. Each has its place.
type session struct {
	used   uint64
	places [numberWindow]place
}

// A place has a number and the position of its record: 0 if it was not logged, and claimed if it is
// not durable.
type place struct {
	n   uint64
	pos wal.Pos
}

const claimed = math.MaxUint64

// place returns the place of a number. The caller holds mu.
func (x *numbers) place(n Number) *place {
	s := x.sessions[n.Session]
	if s == nil {
		if x.sessions == nil {
			x.sessions, x.refused = make(map[uint64]*session), make(map[Number][]refusal)
		}
		if len(x.sessions) == maxSessions {
			x.dropSession()
		}
		s = new(session)
		x.sessions[n.Session] = s
	}
	x.uses++
	s.used = x.uses
	return &s.places[n.N%numberWindow]
}

// dropSession drops the session that was used least recently.
func (x *numbers) dropSession() {
	id, least := uint64(0), uint64(math.MaxUint64)
	for k, s := range x.sessions {
		if s.used < least {
			id, least = k, s.used
		}
	}
	delete(x.sessions, id)
	maps.DeleteFunc(x.refused, func(n Number, list []refusal) bool {
		if n.Session == id {
			x.size -= len(list)
		}
		return n.Session == id
	})
}

// known reports whether a change was made before, or is about to be. If it was not, and it is about
// to be now, known claims the number. The error is ErrForgotten.
func (x *numbers) known(n Number, claim bool) (bool, error) {
	if n.Session == 0 {
		return false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.place(n)
	switch {
	case p.n > n.N:
		return false, ErrForgotten
	case p.n == n.N && p.pos != 0:
		return true, nil
	case claim:
		x.set(Number{n.Session, p.n}, nil)
		*p = place{n.N, claimed}
	}
	return false, nil
}

// claim takes a number whose change is about to be logged.
func (x *numbers) claim(n Number) error {
	known, err := x.known(n, true)
	if known {
		return errClaimed
	}
	return err
}

// unclaim gives back a number that was not logged.
func (x *numbers) unclaim(n Number) {
	if n.Session == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.place(n); *p == (place{n.N, claimed}) {
		p.pos = 0
	}
}

// done notes that the record at pos with a number is being applied, in the order of the log. It
// returns false if the table had the number, with all that was refused.
func (x *numbers) done(n Number, pos wal.Pos, refused []refusal) bool {
	if n.Session == 0 {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.place(n)
	if p.n > n.N || p.n == n.N && p.pos != 0 && p.pos != claimed {
		return false
	}
	x.set(Number{n.Session, p.n}, nil)
	*p = place{n.N, pos}
	x.add(n, refused)
	return true
}

// refuse notes that parts of a change were refused.
func (x *numbers) refuse(n Number, list ...refusal) {
	if n.Session == 0 || len(list) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.place(n).n == n.N {
		x.add(n, list)
	}
}

// add is refuse for a caller who holds mu.
func (x *numbers) add(n Number, list []refusal) {
	x.set(n, append(x.refused[n], list...))
	for n, list := range x.refused {
		if x.size <= maxRefused {
			break
		}
		if len(list) > 1 {
			x.set(n, []refusal{{why: whyForgotten}})
		}
	}
}

// set sets what was refused. The caller holds mu.
func (x *numbers) set(n Number, list []refusal) {
	x.size += len(list) - len(x.refused[n])
	if x.refused[n] = list; len(list) == 0 {
		delete(x.refused, n)
	}
}

// outcome returns what of a change was refused that was known.
func (x *numbers) outcome(n Number) ([]refusal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.place(n); p.n > n.N {
		return nil, ErrForgotten
	} else if p.n < n.N || p.pos == 0 || p.pos == claimed {
		return nil, errClaimed // the log has failed meanwhile
	}
	list := x.refused[n]
	for i := range list {
		if list[i].why == whyForgotten {
			return nil, ErrForgotten
		}
	}
	return slices.Clone(list), nil
}

// append appends the numbers whose records lie at or below at, where all is applied.
func (x *numbers) append(dst []byte, at wal.Pos) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id, s := range x.sessions {
		dst = binary.LittleEndian.AppendUint64(dst, id)
		for _, p := range s.places {
			if p.pos != 0 && p.pos <= at {
				dst = binary.AppendUvarint(binary.AppendUvarint(dst, p.n), uint64(p.pos))
				dst = appendRefusals(dst, x.refused[Number{id, p.n}])
			}
		}
		dst = append(dst, 0)
	}
	return dst
}

// load reads what append wrote.
func (x *numbers) load(b []byte) error {
	r := record.Reader{Rest: b}
	for len(r.Rest) > 0 && r.Err == nil {
		id := r.Uint64()
		for n := r.Uvarint(); n != 0; n = r.Uvarint() {
			x.done(Number{id, n}, wal.Pos(r.Uvarint()), readRefusals(&r))
		}
	}
	return r.Err
}

func appendRefusals(dst []byte, list []refusal) []byte {
	if len(list) > maxRefused {
		list = []refusal{{why: whyForgotten}}
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, x := range list {
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(x.ref)), int64(x.at))
		dst = record.AppendText(binary.AppendUvarint(binary.AppendVarint(dst, int64(x.last)), x.why), x.text)
	}
	return dst
}

func readRefusals(r *record.Reader) (list []refusal) {
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		list = append(list, refusal{Ref(r.Uvarint()), rra.Time(r.Varint()), rra.Time(r.Varint()), r.Uvarint(), r.Text()})
	}
	return list
}

// A numbered is the number of a record, and what was refused before it was logged.
type numbered struct {
	Number
	refused []refusal
	table   *numbers // takes what else is refused
}

// appendNumber appends what stands in front of a record with a number: nothing for the zero Number.
func appendNumber(dst []byte, n Number, refused []refusal) []byte {
	if n.Session == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, record.KindNumbered), n.Session)
	return appendRefusals(binary.AppendUvarint(dst, n.N), refused)
}

// cutNumber returns the number of a record, nil if it has none, and the record without it.
func cutNumber(p wal.Pos, rec []byte) (*numbered, []byte, error) {
	if len(rec) == 0 || rec[0] != record.KindNumbered {
		return nil, rec, nil
	}
	r := record.Reader{Rest: rec[1:]}
	n := &numbered{Number: Number{r.Uint64(), r.Uvarint()}, refused: readRefusals(&r)}
	if r.Err != nil || n.Session == 0 {
		return nil, nil, recordError("number", uint64(p))
	}
	return n, r.Rest, nil
}

// replayed is done for a record that comes from the log. It returns nil if n is nil, or if the
// table had the number.
func (x *numbers) replayed(n *numbered, pos wal.Pos) *numbered {
	if n == nil || !x.done(n.Number, pos, n.refused) {
		return nil
	}
	n.table = x
	return n
}
