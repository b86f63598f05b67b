package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/rra"
)

// Create makes one series and returns once it is durable. If the path is taken, it returns the
// reference of the existing series and an error that wraps ErrExists.
func (s *Store) Create(ctx context.Context, spec Spec) (Ref, error) {
	out, err := s.CreateBatch(ctx, []Spec{spec})
	if err != nil {
		return 0, err
	}
	return out[0].Ref, out[0].Err
}

// CreateBatch makes many series with one log record. out[i] is the outcome of specs[i]. The error
// wraps ErrInvalid if there are more specs than MaxBatch.
func (s *Store) CreateBatch(ctx context.Context, specs []Spec) ([]Created, error) {
	if n := len(specs); n > MaxBatch {
		return nil, invalid("%d series at once, at most %d are possible", n, MaxBatch)
	}
	out, err := s.createBatch(ctx, specs)
	for i := range out {
		if errors.Is(out[i].Err, ErrExists) { // somebody else has made it, maybe just now
			s.catalogue.awaitArrival(out[i].Ref)
		}
	}
	return out, err
}

// createBatch is CreateBatch. A series that exists already may be on its way to its group still.
func (s *Store) createBatch(ctx context.Context, specs []Spec) ([]Created, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	out := make([]Created, len(specs))
	plan := s.catalogue.plan(specs, out)
	since := s.catalogue.find(plan)
	s.failpoint("catalogue-found")
	plan = s.catalogue.reserve(passDamaged(plan, out), out)
	if len(plan) == 0 {
		s.leave()
		return out, s.confirm(ctx)
	}
	giveUp := func(err error) ([]Created, error) {
		s.catalogue.arrive(plan, func() {})
		s.leave()
		return nil, err
	}
	rec := appendCreate(plan)
	if err := checkRecord(rec); err != nil {
		return giveUp(err)
	}
	reserved, err := s.reserveSeries(ctx, plan)
	if err != nil {
		return giveUp(fmt.Errorf("create %.200q: %w", plan[0].Path, err))
	}
	defer reserved.end()
	t := s.appender.ticket()
	defer s.appender.tickets.Put(t)
	t.op = &op{rec: rec}
	applied := false
	t.op.apply = func(t *Ticket) {
		s.catalogue.arrive(plan, func() { s.applyCreate(t, plan, since, out) })
		applied = true
	}
	if err = s.appender.submitOp(t, s.appender.lock); err != nil {
		s.leave()
	} else {
		err = t.Wait()
	}
	if !applied {
		s.catalogue.arrive(plan, func() {})
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Check returns why no store can make the series, or nil. A store may have limits of its own.
func (x *Spec) Check() error {
	_, _, err := newPath(x.Path)
	if err == nil {
		err = checkNewLabels(x.Labels)
	}
	if err == nil {
		err = x.checkRest()
	}
	if err == nil {
		_, err = rra.Compile(x.Definition)
		err = asInvalid(err)
	}
	return err
}

// checkRest refuses what is neither path nor labels nor a definition that does not compile.
func (x *Spec) checkRest() error {
	if x.Definition == nil || x.Start > MaxTime || x.Start < -MaxTime {
		return invalid("a series needs a definition and a start within range")
	}
	return nil
}

// plan checks specs and compiles their definitions, each distinct one once.
func (cat *catalogue) plan(specs []Spec, out []Created) []planned {
	plan := make([]planned, 0, len(specs))
	type admitted struct {
		m    *rra.Machine
		code string
		err  error // why the definition is invalid
	}
	known := make(map[*rra.Definition]admitted)
	var last admitted
	var lastOf *rra.Definition
	var labels labelRoom
	for i, sp := range specs {
		key, p, err := newPath(sp.Path)
		if err != nil { // it names the path, as far as that is printable
			out[i].Err = fmt.Errorf("create: %w", err)
			continue
		}
		err = checkNewLabels(sp.Labels)
		if err == nil {
			err = sp.checkRest()
		}
		if err == nil && sp.Definition != lastOf {
			was := false
			if last, was = known[sp.Definition]; !was {
				last.m, last.code, last.err = cat.admitDefinition(sp.Definition)
				known[sp.Definition] = last
			}
			lastOf = sp.Definition
		}
		if err == nil {
			err = last.err
		}
		if err != nil {
			out[i].Err = fmt.Errorf("create %.200q: %w", sp.Path, err)
			continue
		}
		// Keep no slice of the caller's.
		sp.Path, sp.Labels, sp.Definition = p, labels.clone(sp.Labels), nil
		plan = append(plan, planned{Spec: sp, key: key, m: last.m, def: last.code, at: i})
	}
	return plan
}

// A labelRoom makes copies of labels, many in one piece of memory.
type labelRoom struct{ free []Label }

func (r *labelRoom) clone(labels []Label) []Label {
	n := len(labels)
	if n == 0 {
		return nil
	}
	if n > len(r.free) {
		r.free = make([]Label, max(n, 256))
	}
	c := r.free[:n:n]
	r.free = r.free[n:]
	copy(c, labels)
	return c
}

// passDamaged removes the series whose names cannot be looked up from plan.
func passDamaged(plan []planned, out []Created) []planned {
	return slices.DeleteFunc(plan, func(p planned) bool {
		if p.unknown != nil {
			out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, p.unknown)
		}
		return p.unknown != nil
	})
}

// reserve removes the series from plan that the limits of series and of classes leave no room for.
// It looks up names only if the limit of series is near.
func (cat *catalogue) reserve(plan []planned, out []Created) []planned {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	plan = cat.reserveClasses(plan, out)
	room := int64(cat.options.MaxSeries) - cat.count.Load() - cat.coming
	if room < int64(len(plan)) {
		plan = slices.DeleteFunc(plan, func(p planned) bool {
			ref, err := cat.lookup(p.key)
			switch {
			case err == nil && p.Overwrite:
				return false
			case err == nil:
				out[p.at] = Created{Ref: ref, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
			case room <= 0:
				out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, ErrSeriesLimit)
			default:
				room--
				return false
			}
			cat.releaseClasses([]planned{p})
			return true
		})
	}
	cat.coming += int64(len(plan))
	return plan
}

// arrive runs apply, and then counts the series of plan as no longer planned: they are in the
// catalogue now, or never will be.
func (cat *catalogue) arrive(plan []planned, apply func()) {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	apply()
	cat.coming -= int64(len(plan))
	cat.releaseClasses(plan)
}
