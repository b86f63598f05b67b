package search

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

const (
	rankedBy   = 6   // series of a node whose last updates rank it
	lastOf     = 100 // series of a node whose last updates are its own
	ageClasses = 6
	rankFor    = 10 * time.Second // that the rank of a node stays which is not in the youngest class
	maxRanks   = 80_000           // ranks that are kept
)

// rank returns the class of a node's age. What was read before is used again as long as it must be
// right, because a node only gets younger, or is a few seconds old.
func (x *Index) rank(node uint32, now time.Time) (class int, err error) {
	known, ok := x.ranks[node]
	class = ageClass(now.Sub(known.last))
	if ok && (class == 0 || now.Sub(known.read).Abs() < rankFor) {
		return class, nil
	}
	last, err := x.last(node, rankedBy, now)
	if err != nil {
		return 0, err
	}
	if x.ranks == nil || len(x.ranks) >= maxRanks {
		x.ranks = make(map[uint32]rank)
	}
	x.ranks[node] = rank{last, now}
	return ageClass(now.Sub(last)), nil
}

// ageClass returns 0 for what is younger than ten minutes, up to ageClasses-1.
func ageClass(age time.Duration) int {
	const day = 24 * time.Hour
	bounds := [ageClasses - 1]time.Duration{10 * time.Minute, time.Hour, day, 7 * day, 30 * day}
	for i, b := range bounds {
		if age < b {
			return i
		}
	}
	return ageClasses - 1
}

// last returns the newest update of up to n series at and below a node. It looks no further when it
// has found the youngest class at a time; the zero time has it look at all.
func (x *Index) last(node uint32, n int, enough time.Time) (time.Time, error) {
	var newest time.Time
	for _, s := range x.tree.below(node, n) {
		at, err := x.lastUpdate(x.tree.links[s].ref)
		switch {
		case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrDamaged): // dropped, or lost
		case err != nil:
			return newest, err
		case at > 0 && at.Std().After(newest):
			newest = at.Std()
		}
		if !enough.IsZero() && ageClass(enough.Sub(newest)) == 0 {
			break
		}
	}
	return newest, nil
}

// lastUpdate returns the last update of a series.
func (x *Index) lastUpdate(ref core.Ref) (rra.Time, error) {
	x.reads++
	return core.Last(context.Background(), x.store, ref)
}
