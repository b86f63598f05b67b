package coord

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/cluster/placement"
)

// read makes a View of entries, without leases and what depends on time. Only a map that cannot be
// read is an error: a node of another version must not stop all others by what it says. If the map
// is damaged, missing or older than the one that is known, the view has the one that is known.
func (w *Watcher) read(entries []Entry) (*View, error) {
	v := &View{Members: make(map[string]*Seen)}
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Key, keyMembers); ok {
			m := &Seen{}
			if e.Damaged {
				m.Member = w.heard[name].said
				v.Problems = append(v.Problems, fmt.Errorf("what node %s says is damaged in the servers: %w", name, errDamaged))
			} else if err := json.Unmarshal(e.Value, &m.Member); err != nil {
				m.Member = Member{}
				v.Problems = append(v.Problems, fmt.Errorf("what node %s says cannot be read: %w", name, err))
			}
			m.Name = name
			v.Members[name] = m
		}
		if e.Key == keyMap {
			if err := w.readMap(v, e); err != nil {
				return nil, err
			}
		}
	}
	if k := &w.known; k.HasMap() && (!v.HasMap() || v.Map.Cluster == k.Map.Cluster && v.Map.Version < k.Map.Version) {
		v.Map, v.MapLost = k.Map, true
	}
	v.Leases = make([]Lease, len(v.Map.Partitions))
	for _, e := range entries {
		if name, ok := strings.CutPrefix(e.Key, keyDepartures); ok && v.Members[name] != nil {
			v.Members[name].Leaving = true
		}
	}
	return v, nil
}

// readMap takes in the map of partitions.
func (w *Watcher) readMap(v *View, e Entry) error {
	v.MapRevision, v.MapBare = e.Revision, e.Bare
	if e.Revision == w.known.MapRevision && !w.known.MapLost && !e.Damaged {
		v.Map = w.known.Map
		return nil
	}
	err := errDamaged
	if !e.Damaged {
		if err = json.Unmarshal(e.Value, &v.Map); err == nil {
			err = v.Map.Validate()
		}
		if err == nil {
			return nil
		}
		v.Map = placement.Map{}
		if !e.Bare { // a newer program wrote it
			return fmt.Errorf("the map of partitions cannot be read: %w", err)
		}
	}
	v.MapLost = true
	v.Problems = append(v.Problems, fmt.Errorf("the map of partitions is lost: %w", err))
	return nil
}

var errDamaged = errors.New("its checksum does not fit")

// readLeases takes in a list of leases, whose keys begin with prefix.
func (w *Watcher) readLeases(v *View, prefix string, entries []Entry) {
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimPrefix(e.Key, prefix))
		switch {
		case err != nil || n < 0 || n >= len(v.Leases):
		case n < len(w.known.Leases) && w.known.Leases[n].Revision == e.Revision:
			v.Leases[n] = w.known.Leases[n]
			v.Leases[n].Damaged = e.Damaged
		default:
			v.Leases[n] = readLease(e)
		}
	}
}

// readLease decodes a lease. One that cannot be read is nobody's.
func readLease(e Entry) Lease {
	var l Lease
	if json.Unmarshal(e.Value, &l) != nil {
		l = Lease{}
	}
	l.Revision, l.Damaged = e.Revision, e.Damaged
	return l
}
