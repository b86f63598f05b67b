package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// An engine that dies may have made a change and not reported it. The functions here are for the
// next leader, which has made every change that the one before has. They find out whether the
// change is there, so that it is neither made twice nor reported as failed.

// appliedBefore returns how many samples of an update command are there after an engine has refused
// the first one with failed; 0: that is not known, or none.
func appliedBefore(b *core.Batch, n int, failed error) (done int) {
	late, ok := errors.AsType[*rra.TimeError](failed)
	if !ok || n > 0 {
		return 0
	}
	i := 0
	for s := range b.All() {
		if i++; s.At == late.Last {
			done = i
		}
	}
	return done
}

// updateRest applies what of an update command is behind the samples that are there. The rows that
// these have closed are not known.
func updateRest(ctx context.Context, e core.Engine, ref core.Ref, b *core.Batch, trace bool, done int) (int, [][]rra.Run, error) {
	rest, i := core.Batch{}, 0
	b.Split(func(int, core.Ref) (*core.Batch, core.Ref) {
		if i++; i <= done {
			return nil, 0
		}
		return &rest, ref
	})
	if rest.Len() == 0 {
		return done, nil, nil
	}
	n, rows, err := e.Update(ctx, ref, &rest, trace)
	if rejected, ok := errors.AsType[*core.RejectedError](err); ok {
		rejected.Accepted += done
		for k := range rejected.First {
			rejected.First[k].Index += done
		}
	}
	return done + n, rows, err
}

// madeBefore makes a success of each series that an engine has refused because it exists, if it is
// the one that was to be made: it has the definition, the labels and the last update that it would
// have. want says what was to be made.
func madeBefore(e core.Engine, out []core.Created, want func(i int) core.Spec) {
	seen := make(map[string]bool)
	for i := range out {
		x := want(i)
		key, _, err := core.CleanPath(x.Path)
		if err != nil || seen[key] {
			continue // one more of a path is refused in any case
		}
		seen[key] = true
		if !errors.Is(out[i].Err, core.ErrExists) {
			continue
		}
		if ref, err := e.Lookup(x.Path); err == nil && isNew(e, ref, x) {
			out[i] = core.Created{Ref: ref}
		}
	}
}

// isNew reports whether a series is as a spec has it, and has got no samples.
func isNew(e core.Engine, ref core.Ref, want core.Spec) bool {
	x, err := core.SeriesOf(context.Background(), e, ref)
	if err != nil || !sameDefinition(x.Definition, want.Definition) || !sameLabels(x.Labels, want.Labels) {
		return false
	}
	last, err := core.Last(context.Background(), e, ref)
	return err == nil && last.Unix() == want.Start.Unix() // a series begins with a whole second
}

func sameDefinition(a, b *rra.Definition) bool {
	return a == b || a != nil && b != nil && bytes.Equal(core.AppendDefinition(nil, a), core.AppendDefinition(nil, b))
}

func sameLabels(a, b []core.Label) bool {
	if len(a) != len(b) {
		return false
	}
	for _, l := range a {
		if !slices.Contains(b, l) {
			return false
		}
	}
	return true
}

// An alteration is a call of Alter.
type alteration struct {
	ctx    context.Context
	path   string
	change func(core.Copy) (core.Copy, error)

	became *rra.Definition // what change has returned last; nil: nothing
	was    core.Ref        // the series that it was given
}

// errAltered says that an Alter that was not answered cannot be made again: it might be made
// twice.
var errAltered = errors.New("it may have been altered, and by somebody else as well")

// run is the call of one engine. A series that was altered has another reference and, unless
// somebody else was there, the definition that change has returned.
func (a *alteration) run(e core.Engine, again bool) (core.Ref, error) {
	if again && a.became != nil {
		ref, err := e.Lookup(a.path)
		if err != nil {
			return 0, err
		}
		if ref != a.was {
			x, err := core.SeriesOf(context.Background(), e, ref)
			switch {
			case err != nil:
				return 0, err
			case sameDefinition(x.Definition, a.became):
				return ref, nil
			}
			return 0, fmt.Errorf("alter %q: %w: %w", a.path, errAltered, core.ErrUnavailable)
		}
	}
	return e.Alter(a.ctx, a.path, func(c core.Copy) (core.Copy, error) {
		ref, err := e.Lookup(a.path)
		if err != nil {
			return core.Copy{}, err
		}
		out, err := a.change(c)
		if err == nil {
			a.was, a.became = ref, out.Definition
		}
		return out, err
	})
}

// A removal is a call that takes a path away: Drop or Rename. Whether the path was there is looked
// up before it is made, so that one that is gone because the call was made differs from one that
// never was.
type removal struct{ there bool }

// look finds out whether a path is there: a series, or metadata if the call takes that away.
func (r *removal) look(e core.Engine, path string, metadata bool) {
	if r.there {
		return
	}
	_, err := e.Lookup(path)
	if r.there = err == nil; !r.there && metadata {
		m, err := core.MetadataOf(context.Background(), e, path)
		r.there = err == nil && !none(&m)
	}
}

// outcome returns what became of the path, if err is what the call has returned.
func (r *removal) outcome(again bool, err error) error {
	if again && r.there && errors.Is(err, core.ErrNotFound) {
		return nil
	}
	return err
}

// notedBefore reports whether a note is there.
func notedBefore(ctx context.Context, e core.Engine, key string, n core.Note) (bool, error) {
	all, err := e.Notes(ctx, key)
	for _, x := range all[key] {
		if x.Time == n.Time && x.Text == n.Text && x.Severity == n.Severity && sameLabels(x.Labels, n.Labels) {
			return true, nil
		}
	}
	return false, err
}
