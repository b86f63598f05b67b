package core

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/numbers"
	"github.com/rondo-db/rondo/rra"
)

// Create is the function [Create] for s.
func (s *Store) Create(ctx context.Context, spec Spec) (Ref, error) { return Create(ctx, s, spec) }

// CreateBatch makes many series. out[i] is the outcome of specs[i]. The error wraps ErrInvalid if
// there are more specs than MaxBatch, or if some have a Copy and others have none.
//
// Without copies one log record makes all of them. Of copies each is made whole or not at all.
// Archives with one PDP a row share their rows. If the rows of a copy differ there, which they
// never do in files that rrdtool filled, they get rows of their own (rra.Archive.Own).
func (s *Store) CreateBatch(ctx context.Context, specs []Spec) ([]Created, error) {
	return s.createAll(ctx, specs, newPath)
}

// importRecord is how many bytes of copies, about, come into one log record.
const importRecord = 1 << 20

// createAll is CreateBatch with what checks the paths.
func (s *Store) createAll(ctx context.Context, specs []Spec, check pathCheck) ([]Created, error) {
	if n := len(specs); n > MaxBatch {
		return nil, invalid("%d series at once, at most %d are possible", n, MaxBatch)
	}
	if err := s.enterLead(); err != nil {
		return nil, err
	}
	defer s.leave()
	m := maker{s: s, out: make([]Created, len(specs)), planner: planner{defs: admitting{cat: &s.catalogue}}}
	var plan []planned
	var err error
	size, each := 0, 1 // bytes in plan, and of the series at hand, counted for copies only
	for i := 0; i < len(specs) && err == nil; i++ {
		if (specs[i].Copy == nil) != (specs[0].Copy == nil) {
			return nil, invalid("new series among copies")
		}
		p, wrong := m.plan(&specs[i], check)
		if p.at = i; wrong != nil {
			m.out[i].Err = wrong
			continue
		}
		if p.copied != nil {
			each = p.bytes()
		}
		if size += each; size > importRecord && len(plan) > 0 {
			err = m.log(ctx, plan)
			plan, size = nil, each
		}
		if plan == nil {
			plan = make([]planned, 0, min(len(specs)-i, importRecord/each+1))
		}
		plan = append(plan, p)
	}
	if err == nil && len(plan) > 0 {
		err = m.log(ctx, plan)
	}
	err = errors.Join(err, m.wait())
	if !m.logged && err == nil {
		err = s.confirm(ctx)
	}
	for i := range m.out {
		if errors.Is(m.out[i].Err, ErrExists) { // somebody else has made it, maybe just now
			s.awaitArrival(m.out[i].Ref)
		}
	}
	return m.out, err
}

// A maker logs planned series. While the disk writes one record, it makes the next.
type maker struct {
	planner
	s      *Store
	out    []Created
	under  *creation // on its way; nil: none
	logged bool
}

// log logs planned series, and waits for those before.
func (m *maker) log(ctx context.Context, plan []planned) error {
	m.coder.dst = nil
	n := NumberOf(ctx)
	if plan[0].copied != nil { // else it is the only record
		n = n.Plus(plan[0].at)
	}
	x, err := m.s.create(WithNumber(ctx, n), plan, m.out, m.s.appender.submitOp)
	switch {
	case x == nil:
		return err
	case errors.Is(err, ErrMemory) && m.under != nil: // it holds some
		return errors.Join(m.wait(), m.log(ctx, x.plan))
	case !errors.Is(err, ErrMemory) && !errors.Is(err, ErrInvalid) || plan[0].copied == nil:
		if err == nil {
			m.logged = true
			err, m.under = m.wait(), x
		}
		return err
	case len(x.plan) == 1:
		m.out[x.plan[0].at].Err = err
		return nil
	}
	for i := range x.plan { // some may be small enough
		if err := m.log(ctx, x.plan[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for the series that are on their way.
func (m *maker) wait() error {
	x := m.under
	if m.under = nil; x == nil {
		return nil
	}
	return x.wait()
}

// A creation is planned series on their way into the store.
type creation struct {
	s        *Store
	plan     []planned
	t        *Ticket
	reserved *reservation
	applied  bool
}

// create logs by submit the planned series that can be made; out says why the others cannot. It
// returns nil if none can. Where it fails, it returns what it could not log.
func (s *Store) create(ctx context.Context, plan []planned, out []Created, submit func(t *Ticket, lock func()) error) (*creation, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if refused, again, err := s.before(ctx, NumberOf(ctx)); again || err != nil {
		if err == nil {
			s.createdBefore(plan, refused, out)
		}
		return nil, err
	}
	since := s.catalogue.findPlan(plan)
	s.failpoint("catalogue-found")
	x := &creation{s: s, plan: s.catalogue.reserve(passDamaged(plan, out), out)}
	if len(x.plan) == 0 {
		return nil, nil
	}
	rec := appendCreate(x.plan)
	err := checkRecord(rec)
	if err == nil {
		x.reserved, err = s.reserveSeries(ctx, x.plan)
	}
	if err != nil {
		err = x.plan[0].failed(err)
	} else {
		x.t = s.appender.ticket()
		x.t.number = NumberOf(ctx)
		x.t.op = &op{rec: rec, apply: func(t *Ticket) {
			s.applyCreate(t, x.plan, since, out)
			x.applied = true
		}}
		err = submit(x.t, s.appender.lock)
	}
	if err != nil {
		x.end()
	}
	return x, err
}

// wait waits until the series are durable and applied.
func (x *creation) wait() error {
	defer x.end()
	return x.t.Wait()
}

// end gives back what was set aside for the series.
func (x *creation) end() {
	x.reserved.end()
	if !x.applied {
		x.s.catalogue.count.Add(-int64(len(x.plan)))
	}
	if x.t != nil {
		x.s.appender.tickets.Put(x.t)
	}
}

// createdBefore fills in the outcomes of planned series that were made before. The refusal of a
// path that is taken has its series. Of several series of one path the first one was made.
func (s *Store) createdBefore(plan []planned, refused []numbers.Refusal, out []Created) {
	for i := len(plan) - 1; i >= 0; i-- {
		x := &out[plan[i].at]
		if x.Ref, x.Err = s.Lookup(plan[i].Path); errors.Is(x.Err, ErrNotFound) {
			x.Err = fmt.Errorf("%.200q was refused, or dropped since: %w", plan[i].Path, ErrForgotten)
		}
		if k := slices.IndexFunc(refused, func(y numbers.Refusal) bool { return y.Ref == uint64(x.Ref) && y.Ref != 0 }); k >= 0 {
			x.Err = asRefused(&refused[k])
			refused = slices.Delete(refused, k, k+1)
		}
	}
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

// passDamaged removes the series whose names cannot be looked up from plan.
func passDamaged(plan []planned, out []Created) []planned {
	return slices.DeleteFunc(plan, func(p planned) bool {
		if p.unknown != nil {
			out[p.at].Err = p.failed(p.unknown)
		}
		return p.unknown != nil
	})
}

// reserve removes the series from plan that the limit of series leaves no room for, and counts the
// others: what is not made in the end is counted back. It looks up names only if the limit is near.
func (cat *catalogue) reserve(plan []planned, out []Created) []planned {
	cat.reserving.Lock()
	defer cat.reserving.Unlock()
	room := int64(cat.options.MaxSeries) - cat.count.Load()
	if room < int64(len(plan)) {
		plan = slices.DeleteFunc(plan, func(p planned) bool {
			ref, err := cat.lookup(p.key)
			switch {
			case err == nil && p.Overwrite:
				return false
			case err == nil:
				out[p.at] = Created{Ref: ref, Err: p.failed(ErrExists)}
			case room <= 0:
				out[p.at].Err = p.failed(ErrSeriesLimit)
			default:
				room--
				return false
			}
			return true
		})
	}
	cat.count.Add(int64(len(plan)))
	return plan
}

// find looks up names, in one transaction, and notes in them what they are. It uses names as its
// room. What it finds holds as long as the catalogue's forgotten is since: what changed meanwhile
// is in the overlay.
func (cat *catalogue) find(names []*named) (since uint64) {
	stored := names[:0]
	cat.mu.RLock()
	since = cat.forgotten
	for _, p := range names {
		x, ok := cat.names[p.key]
		if p.old, p.unknown = x.ref, nil; !ok {
			stored = append(stored, p)
		}
	}
	cat.mu.RUnlock()
	if len(stored) == 0 {
		return since
	}
	var key []byte
	err := cat.db.View(bucketNames, func(tx *boltfile.Tx) error {
		c := tx.Bucket(bucketNames).Cursor()
		for len(stored) > 0 {
			p := stored[0]
			key = append(key[:0], p.key...)
			p.old, p.unknown = cat.storedName(c, key)
			stored = stored[1:]
		}
		return nil
	})
	for _, p := range stored { // nothing can be looked up, or nothing any more
		p.unknown = err
	}
	return since
}

// findPlan is find for the names of a plan.
func (cat *catalogue) findPlan(plan []planned) (since uint64) {
	names := make([]*named, len(plan))
	for i := range plan {
		names[i] = &plan[i].named
	}
	return cat.find(names)
}

// refind looks the names of a plan up again if what find noted does not hold any more. It runs in
// log order: while the plan is applied, only the plan changes the catalogue.
func (cat *catalogue) refind(plan []planned, since uint64) {
	cat.mu.RLock()
	holds := since == cat.forgotten
	cat.mu.RUnlock()
	if !holds {
		cat.findPlan(plan)
	}
}

// now returns the series that p means: what find noted, unless the overlay knows better. A part of
// a plan may be applied by now, and the plan may have the name twice. The caller holds mu.
func (cat *catalogue) now(p *named) (Ref, error) {
	if x, ok := cat.names[p.key]; ok {
		return x.ref, nil
	}
	return p.old, p.unknown
}

// applyCreate puts planned series, which are counted, into the catalogue and numbers them. It runs
// in log order. since is what find returned, or 0 if nothing was looked up before.
func (s *Store) applyCreate(t *Ticket, plan []planned, since uint64, out []Created) {
	s.catalogue.refind(plan, since)
	list := beginning{t: t, starts: make([]start, 0, len(plan))}
	records := make([]seriesRecord, len(plan))
	for i := range plan {
		x := &out[plan[i].at]
		if x.Ref, x.Err = s.applyOne(&list, &plan[i], &records[i]); x.Err != nil {
			s.catalogue.count.Add(-1)
			s.refused(t, x.Ref, x.Err)
		}
	}
	list.flush()
}

// applyOne puts a planned series into the catalogue, which keeps rec. If the name is taken, the
// series returned is the one that has it.
func (s *Store) applyOne(list *beginning, p *planned, rec *seriesRecord) (Ref, error) {
	cat := &s.catalogue
	cat.mu.RLock()
	old, err := cat.now(&p.named)
	lacksClass := cat.lacksClass(p)
	cat.mu.RUnlock()
	switch {
	case err != nil:
		return 0, err
	case p.replaces != 0 && old != p.replaces:
		return 0, errReplaced
	case old != 0 && !p.Overwrite:
		return old, p.failed(ErrExists)
	case lacksClass:
		return 0, p.failed(fmt.Errorf("%w: the series have %d shapes (steps, data sources and archives), and more are not possible",
			ErrSeriesLimit, cat.options.maxClasses))
	case old != 0:
		list.flush() // the series ends before another one begins
	}
	d, ref, g := cat.enlist(list.t, p, old, rec)
	s.failpoint("catalogue-create")
	list.add(g, start{d.class.index(ref.number()), d, p})
	return ref, nil
}

// A start is a new series of a group.
type start struct {
	index int
	d     *definition
	p     *planned
}

// A beginning gathers new series: those that follow each other in one group begin together.
type beginning struct {
	t      *Ticket
	g      *group
	starts []start
}

// add adds a series of g.
func (b *beginning) add(g *group, st start) {
	if b.g != g {
		b.flush()
	}
	b.g = g
	b.starts = append(b.starts, st)
}

// flush adds to the ticket that the gathered series begin.
func (b *beginning) flush() {
	if len(b.starts) == 0 {
		return
	}
	starts := b.starts
	b.t.op.do = append(b.t.op.do, groupOp{b.g, func(sh *shard, g *group) { sh.start(g, starts) }, len(starts)})
	b.starts = b.starts[len(starts):]
}

// start begins series of g, in the order of their numbers.
func (sh *shard) start(g *group, starts []start) {
	g.resize(starts[len(starts)-1].index + 1)
	for len(starts) > 0 {
		st := &starts[0]
		n := 1
		if g.c.tabular && !g.c.seasonal {
			n = alike(starts)
		}
		sh.words = g.start(st.index, st.d, st.p.Start, sh.words)
		switch {
		case st.p.copied != nil:
			g.adopt(st.index, st.p.copied)
		case n > 1:
			g.startMore(st.index, n, sh.words)
		case g.c.seasonal:
			st.d.m.SmoothBy(g.state(st.index).W, st.p.smoothBy())
		}
		starts = starts[n:]
	}
}

// alike returns how many of the first starts differ in their index only, which rises by one.
func alike(starts []start) int {
	n, first := 1, &starts[0]
	for n < len(starts) && starts[n].alike(first) && starts[n].index == first.index+n {
		n++
	}
	return n
}

// alike reports whether two series begin with the same state.
func (st *start) alike(other *start) bool {
	return st.d == other.d && st.p.Start == other.p.Start && st.p.copied == other.p.copied
}
