// Package numbers knows which changes of a store were made before.
//
// A client of a store on another machine may miss the answer to a change. It makes the change again
// with the same number, of whatever store leads by then. The number stands in front of the record,
// and every store of the log keeps a Table of the numbers that it has applied, with what was
// refused. A store that leads holds all of the log, and knows what it has logged itself: so it
// knows each number that is in the log. It answers a change whose number it knows behind a record
// that changes nothing, and with the outcome that the first attempt had.
package numbers

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

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

// What a table keeps.
const (
	numberWindow = 1024 // numbers of a session
	maxSessions  = 64

	// MaxRefused is how many refusals of all numbers a table keeps.
	MaxRefused = 1024
)

// A Refusal says why a part of a change was not done: a sample, or one of several series.
type Refusal struct {
	Ref  uint64   // of the series
	At   rra.Time // of a sample
	Last rra.Time // of WhyLate
	Why  uint64   // one of the numbers below, or what the store means by others
	Text string   // of the error
}

// What Why of a Refusal says. Part of the format.
const (
	WhyForgotten = 1 // it is not known what was refused
	WhyLate      = 2 // the sample is not newer than the series
)

// A Table is the table of the numbers that a store has applied or logged.
type Table struct {
	Forgotten error // what is returned where it is not known any more what became of a change
	Claimed   error // the same where an earlier attempt has not come to its end

	mu       sync.Mutex // guards what follows; taken last and alone
	sessions map[uint64]*session
	refused  map[Number][]Refusal
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
func (x *Table) place(n Number) *place {
	s := x.sessions[n.Session]
	if s == nil {
		if x.sessions == nil {
			x.sessions, x.refused = make(map[uint64]*session), make(map[Number][]Refusal)
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
func (x *Table) dropSession() {
	id, least := uint64(0), uint64(math.MaxUint64)
	for k, s := range x.sessions {
		if s.used < least {
			id, least = k, s.used
		}
	}
	delete(x.sessions, id)
	maps.DeleteFunc(x.refused, func(n Number, list []Refusal) bool {
		if n.Session == id {
			x.size -= len(list)
		}
		return n.Session == id
	})
}

// Known reports whether a change was made before, or is about to be. If it was not, and it is about
// to be now, Known claims the number. The error is Forgotten.
func (x *Table) Known(n Number, claim bool) (bool, error) {
	if n.Session == 0 {
		return false, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	p := x.place(n)
	switch {
	case p.n > n.N:
		return false, x.Forgotten
	case p.n == n.N && p.pos != 0:
		return true, nil
	case claim:
		x.set(Number{n.Session, p.n}, nil)
		*p = place{n.N, claimed}
	}
	return false, nil
}

// Claim takes a number whose change is about to be logged.
func (x *Table) Claim(n Number) error {
	known, err := x.Known(n, true)
	if known {
		return x.Claimed
	}
	return err
}

// Unclaim gives back a number that was not logged.
func (x *Table) Unclaim(n Number) {
	if n.Session == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.place(n); *p == (place{n.N, claimed}) {
		p.pos = 0
	}
}

// Done notes that the record at pos with a number is being applied, in the order of the log. It
// returns false if the table had the number, with all that was refused.
func (x *Table) Done(n Number, pos wal.Pos, refused []Refusal) bool {
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

// Refuse notes that parts of a change were refused.
func (x *Table) Refuse(n Number, list ...Refusal) {
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
func (x *Table) add(n Number, list []Refusal) {
	x.set(n, append(x.refused[n], list...))
	for n, list := range x.refused {
		if x.size <= MaxRefused {
			break
		}
		if len(list) > 1 {
			x.set(n, []Refusal{{Why: WhyForgotten}})
		}
	}
}

// set sets what was refused. The caller holds mu.
func (x *Table) set(n Number, list []Refusal) {
	x.size += len(list) - len(x.refused[n])
	if x.refused[n] = list; len(list) == 0 {
		delete(x.refused, n)
	}
}

// Outcome returns what of a change was refused that was known.
func (x *Table) Outcome(n Number) ([]Refusal, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if p := x.place(n); p.n > n.N {
		return nil, x.Forgotten
	} else if p.n < n.N || p.pos == 0 || p.pos == claimed {
		return nil, x.Claimed // the log has failed meanwhile
	}
	list := x.refused[n]
	for i := range list {
		if list[i].Why == WhyForgotten {
			return nil, x.Forgotten
		}
	}
	return slices.Clone(list), nil
}

// Append appends the numbers whose records lie at or below at, where all is applied.
func (x *Table) Append(dst []byte, at wal.Pos) []byte {
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

// Load reads what append wrote.
func (x *Table) Load(b []byte) error {
	r := record.Reader{Rest: b}
	for len(r.Rest) > 0 && r.Err == nil {
		id := r.Uint64()
		for n := r.Uvarint(); n != 0; n = r.Uvarint() {
			x.Done(Number{id, n}, wal.Pos(r.Uvarint()), readRefusals(&r))
		}
	}
	return r.Err
}

func appendRefusals(dst []byte, list []Refusal) []byte {
	if len(list) > MaxRefused {
		list = []Refusal{{Why: WhyForgotten}}
	}
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for _, x := range list {
		dst = binary.AppendVarint(binary.AppendUvarint(dst, uint64(x.Ref)), int64(x.At))
		dst = record.AppendText(binary.AppendUvarint(binary.AppendVarint(dst, int64(x.Last)), x.Why), x.Text)
	}
	return dst
}

func readRefusals(r *record.Reader) (list []Refusal) {
	for n := r.Uvarint(); n > 0 && r.Err == nil; n-- {
		list = append(list, Refusal{r.Uvarint(), rra.Time(r.Varint()), rra.Time(r.Varint()), r.Uvarint(), r.Text()})
	}
	return list
}

// A Numbered is the number of a record, and what was refused before it was logged.
type Numbered struct {
	Number
	Refused []Refusal
	Table   *Table // takes what else is refused
}

// Append appends what stands in front of a record with a number: nothing for the zero Number.
func Append(dst []byte, n Number, refused []Refusal) []byte {
	if n.Session == 0 {
		return dst
	}
	dst = binary.LittleEndian.AppendUint64(append(dst, record.KindNumbered), n.Session)
	return appendRefusals(binary.AppendUvarint(dst, n.N), refused)
}

// Cut returns the number of a record, nil if it has none, and the record without it.
// The error is [record.ErrParse].
func Cut(rec []byte) (*Numbered, []byte, error) {
	if len(rec) == 0 || rec[0] != record.KindNumbered {
		return nil, rec, nil
	}
	r := record.Reader{Rest: rec[1:]}
	n := &Numbered{Number: Number{r.Uint64(), r.Uvarint()}, Refused: readRefusals(&r)}
	if r.Err != nil || n.Session == 0 {
		return nil, nil, record.ErrParse
	}
	return n, r.Rest, nil
}

// Replayed is done for a record that comes from the log. It returns nil if n is nil, or if the
// table had the number.
func (x *Table) Replayed(n *Numbered, pos wal.Pos) *Numbered {
	if n == nil || !x.Done(n.Number, pos, n.Refused) {
		return nil
	}
	n.Table = x
	return n
}
