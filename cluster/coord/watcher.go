package coord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
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
	t.Interval = cmp.Or(t.Interval, time.Second)
	t.Lease = cmp.Or(t.Lease, 6*t.Interval)
	t.Gone = cmp.Or(t.Gone, max(10*time.Minute, 10*t.Lease))
	return t
}

// A Watcher reads what the nodes of a cluster say. Its methods must not be called concurrently.
type Watcher struct {
	store Store
	times Times
	now   func() time.Time
	last  time.Time // of the last look that succeeded
	heard map[string]sighting

	known View // the map and leases that were decoded last: most stay the same
}

// A sighting is when a member was heard last.
type sighting struct {
	revision uint64 // the newest one
	silent   time.Duration
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
func (w *Watcher) Know(m placement.Map) { w.known.Map = m }

// ErrMapLost says that the store has no map of partitions any more, or an older one.
var ErrMapLost = errors.New("the servers of NATS have lost the map of partitions; rondo cluster mend --map FOLDER writes it again")

// Look reads everything. Call it every Times.Interval. An interval of more than twice that counts
// as twice that: the store could not be asked, or this process was stopped, and others may have
// announced themselves unheard. The error wraps ErrMapLost if a newer map is known than there is.
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
	w.known = View{Map: v.Map, MapRevision: v.MapRevision, Leases: v.Leases}
	passed := min(before.Sub(w.last), 2*w.times.Interval)
	w.last = before
	heard := make(map[string]sighting)
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Key, keyMembers)
		if !ok {
			continue
		}
		s, known := w.heard[name]
		if !known || e.Revision > s.revision {
			s = sighting{revision: e.Revision}
		} else { // the same, or an older one
			s.silent += passed
		}
		heard[name] = s
		m := v.Members[name]
		m.Silent, m.Live, m.Gone = s.silent, s.silent < w.times.Lease, s.silent >= w.times.Gone
	}
	w.heard = heard
	return v, nil
}

// read makes a View of entries, without what depends on time. Only a map that cannot be read is an
// error: a node of another version must not stop all others by what it says.
func (w *Watcher) read(entries []Entry) (*View, error) {
	v := &View{Members: make(map[string]*Seen)}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Key, keyMembers); ok {
			m := &Seen{}
			if err := json.Unmarshal(e.Value, &m.Member); err != nil {
				m.Member = Member{}
				v.Problems = append(v.Problems, fmt.Errorf("what node %s says cannot be read: %w", name, err))
			}
			m.Name = name
			v.Members[name] = m
			v.Traces = v.Traces || m.Cluster != ""
		}
		if e.Key == keyMap {
			if err := w.readMap(v, e); err != nil {
				return nil, fmt.Errorf("the map of partitions cannot be read: %w", err)
			}
		}
	}
	if k := w.known.Map; k.Partitions != nil && (!v.HasMap() || v.Map.Cluster == k.Cluster && v.Map.Version < k.Version) {
		return nil, ErrMapLost
	}
	v.Leases = make([]Lease, len(v.Map.Partitions))
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Key, keyDepartures); ok && v.Members[name] != nil {
			v.Members[name].Leaving = true
		}
		if number, ok := strings.CutPrefix(e.Key, keyLeases); ok {
			v.Traces = true
			w.readLease(v, number, e)
		}
	}
	return v, nil
}

// readMap takes in the map of partitions.
func (w *Watcher) readMap(v *View, e Entry) error {
	v.MapRevision = e.Revision
	if e.Revision == w.known.MapRevision {
		v.Map = w.known.Map
		return nil
	}
	if err := json.Unmarshal(e.Value, &v.Map); err != nil {
		return err
	}
	return v.Map.Validate()
}

// readLease takes in the lease of a partition. One that cannot be read is nobody's.
func (w *Watcher) readLease(v *View, partition string, e Entry) {
	n, err := strconv.Atoi(partition)
	switch {
	case err != nil || n < 0 || n >= len(v.Leases):
	case n < len(w.known.Leases) && w.known.Leases[n].Revision == e.Revision:
		v.Leases[n] = w.known.Leases[n]
	default:
		var l Lease
		if json.Unmarshal(e.Value, &l) != nil {
			l = Lease{}
		}
		l.Revision = e.Revision
		v.Leases[n] = l
	}
}
