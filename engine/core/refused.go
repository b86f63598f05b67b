package core

import (
	"errors"
	"fmt"
)

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
