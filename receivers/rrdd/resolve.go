package rrdd

import (
	"context"
	"errors"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// An entry is the series of one data source.
type entry struct {
	ref      core.Ref
	why      receivers.Reason // there is no reference
	retry    time.Time        // when to try again
	describe bool             // its attributes are not those that were handed over last
}

// renew makes entries for sources. Those of data sources that are what they were stay; those that
// have changed are resolved again, for their labels.
func renew(old []Source, entries []entry, sources []Source) []entry {
	byName := make(map[string]int, len(old))
	for i := range old {
		byName[old[i].Name] = i
	}
	out := make([]entry, len(sources))
	for i := range sources {
		s, e := &sources[i], &out[i]
		j, known := byName[s.Name]
		switch {
		case !known || old[j].Owner != s.Owner || old[j].UUID != s.UUID:
			e.describe = s.described()
		case old[j] == *s:
			*e = entries[j]
		default:
			e.describe = entries[j].describe || old[j].Description != s.Description || old[j].Units != s.Units
		}
	}
	return out
}

// resolve has the sink resolve the series of p that have no reference.
func (s *server) resolve(ctx context.Context, p *plugin, at rra.Time) {
	var reqs []receivers.Request
	var of []int // of[i] is the entry of reqs[i]
	for i := range p.entries {
		e := &p.entries[i]
		if e.ref != 0 && e.describe { // it was shed
			s.describe(p, i, Identify(p.name, &p.adopted[i]).Path)
		}
		if e.ref != 0 || s.now.Before(e.retry) || s.set.onlyDefault && !p.adopted[i].Default {
			continue
		}
		e.why = receivers.Overload // unless it is asked for
		if !s.pause {
			reqs, of = append(reqs, s.request(p, i, at)), append(of, i)
		}
	}
	if len(reqs) == 0 {
		return
	}
	err := receivers.Resolve(ctx, s.sink, reqs)
	if err != nil {
		s.pause, s.slow = true, p.name // the other files of this turn need not wait as long
		s.log(p.name, "rrdd: series not made", err)
	}
	for i := range reqs {
		e := &p.entries[of[i]]
		if err != nil {
			e.why = receivers.FailureReason(err)
			continue
		}
		s.settle(p, of[i], &reqs[i])
		if e.ref != 0 && e.describe {
			s.describe(p, of[i], reqs[i].Path)
		}
	}
}

func (s *server) request(p *plugin, i int, at rra.Time) receivers.Request {
	source := &p.adopted[i]
	kind := source.kind(p.legacy)
	return receivers.Request{
		Identity: Identify(p.name, source),
		Sender:   sender(p),
		Time:     at,
		Define:   func(step int64) *rra.Definition { return source.Define(kind, step) },
		Relabel:  true,
	}
}

// sender is who the series of p count against.
func sender(p *plugin) string { return "rrdd/" + p.name }

// settle writes the outcome of a request into its entry.
func (s *server) settle(p *plugin, i int, r *receivers.Request) {
	e, source := &p.entries[i], &p.adopted[i]
	err := r.Err
	if err == nil && !source.fits(r.Definition, source.kind(p.legacy), s.set.types == Auto) {
		err = errors.New("state: the type of " + r.Path + " is not that of its series")
	}
	if err == nil {
		e.ref = r.Ref
		return
	}
	why, retry := receivers.Absence(err)
	e.why, e.retry = why, s.now.Add(retry)
	s.log(p.name, "rrdd: series not made", err)
}

// describe hands the attributes of a series over. They may be shed.
func (s *server) describe(p *plugin, i int, path string) {
	m := core.Metadata{Attributes: p.adopted[i].attributes()}
	if len(m.Attributes) > 0 { // else what there is is removed
		m.Time = rra.TimeOf(s.now)
	}
	p.entries[i].describe = !s.queue.Describe(receivers.Description{
		PathMetadata: core.PathMetadata{Path: path, Metadata: m},
		Sender:       sender(p),
	})
}
