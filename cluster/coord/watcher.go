package coord

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rondo-db/rondo/cluster/placement"
)

// Times say how long a node may be silent.
type Times struct {
	Interval time.Duration // between two announcements, and two looks; default 1 s
	Lease    time.Duration // a node that is silent for so long has lost its leases; default 6 s
	Gone     time.Duration // its replicas are made anew elsewhere after so long; default 10 min
}

// WithDefaults fills what is not set.
func (t Times) WithDefaults() Times {
	if t.Interval <= 0 {
		t.Interval = time.Second
	}
	if t.Lease <= 0 {
		t.Lease = 6 * t.Interval
	}
	if t.Gone <= 0 {
		t.Gone = max(10*time.Minute, 10*t.Lease)
	}
	return t
}

// A Watcher reads what the nodes of a cluster say. Its methods must not be called concurrently.
type Watcher struct {
	store Store
	times Times
	now   func() time.Time
	last  time.Time // of the last look that succeeded
	heard map[string]sighting

	known View // the map and leases that were decoded last: most are the same at the next look
}

// A sighting is when a member was heard last.
type sighting struct {
	revision uint64 // the newest one
	read     uint64 // what the last look has found; below revision if that was out of date
	silent   time.Duration
	said     Member // the newest that could be read
}

// NewWatcher returns a Watcher. A member that it sees first counts as heard just now. now is the
// clock; nil: time.Now.
func NewWatcher(s Store, t Times, now func() time.Time) *Watcher {
	if now == nil {
		now = time.Now
	}
	return &Watcher{store: s, times: t.WithDefaults(), now: now, heard: make(map[string]sighting)}
}

// Know lets the watcher know a map before it has read one.
func (w *Watcher) Know(m placement.Map) { w.known.Map, w.known.MapLost = m, true }

// Look reads everything. Call it every Times.Interval. An interval of more than twice that counts
// as twice that: the store could not be asked, or this process was stopped, and others may have
// announced themselves unheard.
func (w *Watcher) Look(ctx context.Context) (*View, error) {
	before := w.now()
	entries, err := w.store.List(ctx, keyCluster)
	if err != nil {
		return nil, fmt.Errorf("look at the cluster: %w", err)
	}
	v, err := w.read(entries)
	if err != nil {
		return nil, err
	}
	for p := 0; p < len(v.Leases); p += leasesPerList {
		leases, err := w.store.List(ctx, leaseList(p))
		if err != nil {
			return nil, fmt.Errorf("look at the leases of the cluster: %w", err)
		}
		w.readLeases(v, leaseList(p), leases)
	}
	w.known = View{Map: v.Map, MapRevision: v.MapRevision, MapLost: v.MapLost, Leases: v.Leases}
	passed := min(before.Sub(w.last), 2*w.times.Interval)
	w.last = before
	heard := make(map[string]sighting)
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Key, keyMembers)
		if !ok {
			continue
		}
		s, known := w.heard[name]
		switch {
		case !known || e.Revision > s.revision:
			s = sighting{revision: e.Revision}
		case s.read < e.Revision && e.Revision < s.revision:
			// It was older than before at the last look, too, and has grown since: revisions have
			// begun anew, because the store has lost what it had.
			s = sighting{revision: e.Revision}
		default: // the same, or one that a replica shows late
			s.silent += passed
		}
		s.read = e.Revision
		m := v.Members[name]
		s.said = m.Member
		heard[name] = s
		m.Silent, m.Live, m.Gone = s.silent, s.silent < w.times.Lease, s.silent >= w.times.Gone
	}
	w.heard = heard
	return v, nil
}
