package clustered

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/copying"
	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/engine/core"
)

// OwnFolder is where servers keep the series about themselves. A new cluster has some from its
// first minute on.
const OwnFolder = "rondo"

const keyOrigin = "origin" // of the bucket

// An Origin says which database a cluster was filled from.
type Origin struct {
	Source string    `json:"source"` // identity of the database, or of a backup
	Name   string    `json:"name"`   // where it was, for people
	Began  time.Time `json:"began"`
	Done   time.Time `json:"done,omitzero"` // zero: it is not whole yet
	Series int64     `json:"series,omitempty"`
	Digest string    `json:"digest,omitempty"`
}

// A Source is a database that a cluster is filled from.
type Source struct {
	Origin
	// Each calls fn with the stores that have the series, one after the other, and returns its
	// first error.
	Each func(fn func(e core.Engine) error) error
	// Files takes along what is beside the series; nil: nothing.
	Files func(ctx context.Context) error
}

// ErrFilled says that a cluster was filled from the same source before, and that this has ended
// well.
var ErrFilled = errors.New("the cluster has it all")

// An UnfitError says why a cluster takes nothing from a source: it has series, or is filled from
// another one. No later Fill of that source succeeds.
type UnfitError struct{ why string }

func (e *UnfitError) Error() string { return e.why }

func unfit(format string, args ...any) error { return &UnfitError{fmt.Sprintf(format, args...)} }

// Fill takes a database into a cluster that has no series but its servers'. The cluster remembers
// what it is filled from, so that a Fill that was interrupted goes on when it is called again. It
// returns what was done, and an error if something is missing.
//
// The error wraps ErrFilled, and the Origin comes from the former call, if nothing was to be done.
// It is an UnfitError if the cluster takes nothing from that source.
func Fill(ctx context.Context, s coord.Store, to core.Engine, from Source, step func(series int)) (got copying.Result, o Origin, err error) {
	o, revision, err := origin(ctx, s)
	if err != nil {
		return got, o, err
	}
	again := revision > 0
	switch {
	case again && o.Source != from.Source && o.Done.IsZero():
		return got, o, unfit("the cluster is being filled from %s since %s: finish that, or make another cluster with --cluster-name", o.Name, stamp(o.Began))
	case again && o.Source != from.Source:
		return got, o, unfit("the cluster was filled from %s on %s: make another one with --cluster-name", o.Name, stamp(o.Done))
	case again && !o.Done.IsZero():
		return got, o, fmt.Errorf("it was filled from %s on %s: %w", o.Name, stamp(o.Done), ErrFilled)
	case !again:
		if err := empty(ctx, to); err != nil {
			return got, o, err
		}
		o = from.Origin
		o.Began = time.Now().UTC().Truncate(time.Second)
		if revision, err = setOrigin(ctx, s, o, 0); err != nil {
			return got, o, err
		}
	}
	err = from.Each(func(e core.Engine) error {
		x, err := copying.Copy(ctx, copying.Options{From: e, To: to, Own: OwnFolder, Step: step})
		got.Add(x)
		return err
	})
	if err != nil {
		return got, o, err
	}
	if got.Failed > 0 {
		return got, o, fmt.Errorf("%d series or other entries could not be copied, or differ", got.Failed)
	}
	if err := noMore(ctx, to, got.Series-got.Own); err != nil {
		return got, o, err
	}
	if from.Files != nil {
		if err := from.Files(ctx); err != nil {
			return got, o, err
		}
	}
	o.Done, o.Series, o.Digest = time.Now().UTC().Truncate(time.Second), got.Series, got.Digest.String()
	_, err = setOrigin(ctx, s, o, revision)
	return got, o, err
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// origin returns what a cluster was filled from, and the revision of that; 0: nothing.
func origin(ctx context.Context, s coord.Store) (o Origin, revision uint64, err error) {
	e, err := s.Get(ctx, keyOrigin)
	if err == nil && e.Revision > 0 {
		err = json.Unmarshal(e.Value, &o)
	}
	if err != nil {
		return o, 0, fmt.Errorf("what the cluster was filled from cannot be read: %w", err)
	}
	return o, e.Revision, nil
}

func setOrigin(ctx context.Context, s coord.Store, o Origin, revision uint64) (uint64, error) {
	b, err := json.Marshal(o)
	if err != nil {
		return 0, err
	}
	if revision, err = s.CompareAndSet(ctx, keyOrigin, b, revision); err != nil {
		return 0, fmt.Errorf("note what the cluster is filled from: %w", err)
	}
	return revision, nil
}

// empty refuses a cluster that has series of its own.
func empty(ctx context.Context, e core.Engine) error {
	_, last, err := others(ctx, e, 0)
	if err == nil && last != "" {
		err = unfit("the cluster has series already, such as %q: only one without series can be filled", last)
	}
	return err
}

// noMore refuses a cluster that has more series than were copied.
func noMore(ctx context.Context, e core.Engine, most int64) error {
	n, _, err := others(ctx, e, math.MaxInt64)
	if err == nil && n > most {
		err = fmt.Errorf("the cluster has %d series, and %d were copied: somebody else makes series, or some were dropped from the source meanwhile", n, most)
	}
	return err
}

// others counts the series that are not the servers' own, up to one more than most, and returns the
// path of the last.
func others(ctx context.Context, e core.Engine, most int64) (n int64, path string, err error) {
	for x, err := range e.Select(ctx, core.Query{}) {
		if err != nil {
			return n, path, err
		}
		if !own(x.Path) {
			path = x.Path
			if n++; n > most {
				break
			}
		}
	}
	return n, path, nil
}

func own(path string) bool { return strings.HasPrefix(path, OwnFolder+"/") }

// openDetour opens the way of samples whose senders get no answer.
func (m *Member) openDetour() (err error) {
	if left, _ := os.ReadDir(m.o.SpoolDir); m.o.Spool == 0 && len(left) > 0 {
		m.o.Logger.Warn("--spool is 0: what an earlier start has kept is not delivered", "dir", m.o.SpoolDir)
	}
	m.detour, err = detour.New(m.router, m.node, detour.Options{Dir: m.o.SpoolDir, Bytes: m.o.Spool, Logger: m.o.Logger})
	if err != nil {
		return fmt.Errorf("--spool: %w", err)
	}
	return nil
}

// Detour returns all partitions as an engine for samples whose senders get no answer.
func (m *Member) Detour() *detour.Detour { return m.detour }
