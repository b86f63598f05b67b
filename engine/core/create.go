package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
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
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	out := make([]Created, len(specs))
	plan := s.catalogue.reserve(s.catalogue.passDamaged(s.catalogue.plan(specs, out), out), out)
	if len(plan) == 0 {
		s.leave()
		return out, nil
	}
	giveUp := func(err error) ([]Created, error) {
		s.catalogue.arrive(len(plan), func() {})
		s.leave()
		return nil, err
	}
	rec := appendCreate(nil, plan)
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
		s.catalogue.arrive(len(plan), func() { s.applyCreate(t, plan, out) })
		applied = true
	}
	if err = s.appender.submitOp(t, s.appender.lock); err != nil {
		s.leave()
	} else {
		err = t.Wait()
	}
	if !applied {
		s.catalogue.arrive(len(plan), func() {})
	}
	if err != nil {
		return nil, err
	}
	return out, nil
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
	for i, sp := range specs {
		key, p, err := cleanPath(sp.Path)
		if err != nil { // it names the path, as far as that is printable
			out[i].Err = fmt.Errorf("create: %w", err)
			continue
		}
		err = checkLabels(sp.Labels)
		if err == nil && (sp.Definition == nil || sp.Start > MaxTime || sp.Start < -MaxTime) {
			err = invalid("a series needs a definition and a start within range")
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
		sp.Path, sp.Labels, sp.Definition = p, slices.Clone(sp.Labels), nil
		plan = append(plan, planned{sp, key, last.m, last.code, i})
	}
	return plan
}

// passDamaged removes the series with damaged names from plan.
func (cat *catalogue) passDamaged(plan []planned, out []Created) []planned {
	var damaged error
	err := cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
		b := tx.Bucket(bucketNames)
		kept := plan[:0]
		for _, p := range plan {
			var err error
			if v := b.Get([]byte(p.key)); v != nil {
				_, err = cat.decodeName([]byte(p.key), v)
			} else {
				err = tx.Absent(bucketNames, []byte(p.key))
			}
			if err != nil && !cat.overlaid(p.key) {
				out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, err)
				damaged = err
				continue
			}
			kept = append(kept, p)
		}
		plan = kept
		return nil
	})
	if err != nil && damaged == nil { // no name can be looked up
		for _, p := range plan {
			out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, err)
		}
		return nil
	}
	return plan
}

// reserve removes the series from plan that the series limit leaves no room for. It looks up names
// only if the limit is near.
func (cat *catalogue) reserve(plan []planned, out []Created) []planned {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	room := int64(cat.options.MaxSeries) - cat.count.Load() - cat.coming
	if room < int64(len(plan)) {
		plan = slices.DeleteFunc(plan, func(p planned) bool {
			ref, err := cat.lookup(p.key)
			switch {
			case err == nil && p.Overwrite:
				return false
			case err == nil:
				out[p.at] = Created{Ref: ref, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
				return true
			case room <= 0:
				out[p.at].Err = fmt.Errorf("create %q: %w", p.Path, ErrSeriesLimit)
				return true
			}
			room--
			return false
		})
	}
	cat.coming += int64(len(plan))
	return plan
}

// arrive runs apply, and then counts n series as no longer planned: they are in the catalogue now,
// or never will be.
func (cat *catalogue) arrive(n int, apply func()) {
	cat.planMu.Lock()
	defer cat.planMu.Unlock()
	apply()
	cat.coming -= int64(n)
}

// applyCreate puts the planned series into the catalogue and numbers them. It runs in log order.
func (s *Store) applyCreate(t *Ticket, plan []planned, out []Created) {
	for i := range plan {
		p := &plan[i]
		old, err := s.catalogue.lookup(p.key)
		if err == nil && !p.Overwrite {
			out[p.at] = Created{Ref: old, Err: fmt.Errorf("create %q: %w", p.Path, ErrExists)}
			continue
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			out[p.at].Err = err
			continue
		}
		d, ref, g := s.catalogue.enlist(t, p, old, i)
		s.failpoint("catalogue-create")
		out[p.at].Ref = ref
		index, at, hash := d.class.index(ref.number()), p.Start, p.smoothBy()
		t.op.do = append(t.op.do, groupOp{g, func(_ *shard, g *group) {
			g.start(index, d, at)
			d.m.SmoothBy(g.state(index).W, hash)
		}, ref})
	}
}
