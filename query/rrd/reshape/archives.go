package reshape

import (
	"errors"
	"fmt"
	"math"

	"github.com/rondo-db/rondo/rra"
)

// DropArchives removes the archives whose index is in drop. An archive that another one depends on
// can only be removed together with that one.
func (s *Series) DropArchives(drop map[int]bool) error {
	archives, err := DropArchives(s.Definition.Archives, drop)
	if err != nil {
		return err
	}
	n := len(s.Definition.Archives)
	s.Rows = without(s.Rows, n, drop)
	s.State.Archives = without(s.State.Archives, n, drop)
	s.Definition.Archives = archives
	return nil
}

// DropArchives returns archives without those whose index is in drop, as Series.DropArchives does.
// Partners are numbered anew in the result.
func DropArchives(archives []rra.Archive, drop map[int]bool) ([]rra.Archive, error) {
	moved := make([]int, len(archives)) // the new index of each archive
	next := 0
	for i := range moved {
		moved[i] = next
		if !drop[i] {
			next++
		}
	}
	if next == 0 {
		return nil, errors.New("a series needs an archive")
	}
	var out []rra.Archive
	for i, a := range archives {
		if drop[i] {
			continue
		}
		if a.CF > rra.Last {
			if drop[a.Partner] {
				return nil, fmt.Errorf("archive %d is needed by archive %d", a.Partner, i)
			}
			a.Partner = moved[a.Partner]
		}
		out = append(out, a)
	}
	return out, nil
}

// AddArchives appends archives and fills them from donors.
func (s *Series) AddArchives(archives []rra.Archive, from *Donors) error {
	if len(archives) == 0 {
		return nil
	}
	before := len(s.Definition.Archives)
	s.Definition.Archives = append(s.Definition.Archives, archives...)
	fresh, err := s.fresh()
	if err != nil {
		return err
	}
	for i := before; i < len(s.Definition.Archives); i++ {
		a := &s.Definition.Archives[i]
		x := &fresh.Archives[i]
		rows := x.Rows
		if rows == nil {
			rows = from.rows(a, a.Rows, 0)
		}
		if a.CF <= rra.Last {
			from.fillCDPs(a, rows, x.CDPs)
		}
		s.Rows = append(s.Rows, rows)
		s.State.Archives = append(s.State.Archives, *x)
	}
	return nil
}

// Resize gives archive i another number of rows. The oldest rows go, or older ones come from
// donors; nil donors give unknown rows.
func (s *Series) Resize(i int, rows int64, from *Donors) error {
	a := &s.Definition.Archives[i]
	if rows < 1 || rows > MaxRows {
		return fmt.Errorf("archive %d cannot have %d rows", i, rows)
	}
	n := int64(len(s.Definition.Sources))
	switch more := rows - a.Rows; {
	case more < 0:
		s.Rows[i] = s.Rows[i][-more*n:]
	case more > 0 && from == nil:
		s.Rows[i] = append(unknown(int(more*n)), s.Rows[i]...)
	case more > 0:
		s.Rows[i] = append(from.rows(a, more, a.Rows), s.Rows[i]...)
	}
	a.Rows = rows
	return nil
}

// Refine sets a step that divides the present one. The open PDP and the open rows keep their means.
func (s *Series) Refine(step int64) {
	n := s.Definition.Step / step
	old := s.Last() - s.Last()%s.Definition.Step // when the open PDP began
	closed := (s.Last() - old) / step            // PDPs of the new step that have ended since
	s.Definition.Step = step
	means := make([]float64, len(s.State.Sources))
	for i := range s.State.Sources {
		x := &s.State.Sources[i]
		means[i] = math.NaN()
		elapsed := s.Last() - old
		if known := elapsed - x.UnknownSec; known > 0 && x.UnknownSec <= elapsed/2 {
			means[i] = x.Value / float64(known)
		}
		if closed == 0 {
			continue
		}
		rest := s.Last() % step
		x.UnknownSec = 0
		if x.Value = means[i] * float64(rest); math.IsNaN(means[i]) {
			x.UnknownSec = rest
		}
	}
	for i := range s.Definition.Archives {
		a := &s.Definition.Archives[i]
		if a.CF > rra.Last {
			continue
		}
		single := a.PDPs == 1
		a.PDPs *= n
		if a.Own = a.Own && a.PDPs == 1; n == 1 {
			continue
		}
		for ds := range s.State.Archives[i].CDPs {
			c := &s.State.Archives[i].CDPs[ds]
			if single {
				c.Value, c.Unknown = emptyValue(a.CF), 0
			}
			if c.Unknown *= n; a.CF == rra.Average {
				c.Value *= float64(n)
			}
			for range closed {
				c.Value, c.Unknown = addPDP(a.CF, c.Value, c.Unknown, means[ds])
			}
		}
	}
}
