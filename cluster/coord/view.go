package coord

import (
	"cmp"
	"slices"
	"time"

	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/wal"
)

// A View is what a Watcher has read: everything that nodes announce. Do not change it.
type View struct {
	Map         placement.Map    // has no partitions if the bucket has no map
	MapRevision uint64           // in the store; 0: it has no map
	Members     map[string]*Seen // by name
	Leases      []Lease          // by partition
	Problems    []error          // what could not be read
	Traces      bool             // the store has leases, or nodes that were in a cluster
}

// HasMap reports whether there is a map. If not, there is no cluster yet, or with Traces its map is
// lost.
func (v *View) HasMap() bool { return len(v.Map.Partitions) > 0 }

// A Seen is a member as a Watcher sees it.
type Seen struct {
	Member
	Leaving bool          // it has to leave
	Silent  time.Duration // since it has announced itself last
	Live    bool          // it was not silent for Times.Lease
	Gone    bool          // it was silent for Times.Gone: its replicas are to be replaced
}

// A Digest is the digest that a replica of a partition took when somebody asked for one.
type Digest struct {
	Node  string
	Leads bool
	At    wal.Pos // where it was taken
	Sum   uint64
	Err   error // why there is no digest, or nil
}

// Standing returns what a member says of its replica of a partition, and false if it says nothing.
func (m *Seen) Standing(partition int) (Standing, bool) {
	i, ok := slices.BinarySearchFunc(m.Partitions, partition, func(s Standing, p int) int { return cmp.Compare(s.Partition, p) })
	if !ok {
		return Standing{}, false
	}
	return m.Partitions[i], true
}

// Leader returns the live member that has the lease of a partition, or nil.
func (v *View) Leader(partition int) *Seen {
	if partition >= len(v.Leases) {
		return nil
	}
	l := v.Leases[partition]
	if m := v.Members[l.Node]; m != nil && m.Live && m.Session == l.Session {
		return m
	}
	return nil
}

// Current reports whether a node lives and has a replica of a partition that is current.
func (v *View) Current(partition int, node string) bool {
	m := v.Members[node]
	return m != nil && m.Live && m.SaysCurrent(partition)
}

// SaysCurrent reports whether the last that was heard of a member is that its replica of a
// partition is current. It may not live any more.
func (m *Seen) SaysCurrent(partition int) bool {
	s, ok := m.Standing(partition)
	return ok && s.Current && s.Quarantine == ""
}

// MayLead reports whether a node has a replica that is current, and takes leases.
func (v *View) MayLead(partition int, node string) bool {
	return v.Current(partition, node) && !v.Members[node].Stopping && !v.Members[node].Leaving
}

// Placement returns the members that belong to the cluster, in order of names.
func (v *View) Placement() []placement.Member {
	var all []placement.Member
	for _, m := range v.Members {
		if !m.Gone {
			all = append(all, placement.Member{Name: m.Name, Zone: m.Zone, Leaving: m.Leaving, Full: m.DiskFull != ""})
		}
	}
	slices.SortFunc(all, func(a, b placement.Member) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
