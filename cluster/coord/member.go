package coord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rondo-db/rondo/wal"
)

// A Member is what a node announces of itself.
type Member struct {
	Name    string `json:"name"`
	Session string `json:"session"`        // drawn at random by each start of the node
	Address string `json:"address"`        // host:port of its RPC, for the other nodes
	Version string `json:"version"`        // of the program
	Zone    string `json:"zone,omitempty"` // what may fail at once
	// Started is when it started by its own clock: for eyes, nothing is decided by it.
	Started time.Time `json:"started,omitzero"`
	// Stopping nodes hand their leases on, and take none.
	Stopping bool `json:"stopping,omitempty"`
	// Cluster names the cluster that the node belongs to; empty: none yet.
	Cluster string `json:"cluster,omitempty"`

	// DiskFull says how much its disk has left if that is too little for replicas; else empty.
	DiskFull string `json:"diskFull,omitempty"`

	Partitions []Standing `json:"partitions,omitempty"` // in order of their numbers
}

// A Standing says how far a node has come with its replica of one partition.
type Standing struct {
	Partition  int     `json:"partition"`
	Position   wal.Pos `json:"position"`             // all records up to it are applied
	Checkpoint wal.Pos `json:"checkpoint,omitempty"` // the log is not needed up to it
	Closed     bool    `json:"closed,omitempty"`     // on the disk, not open: Position is not known
	Current    bool    `json:"current,omitempty"`    // less than a second behind, and whole
	Leads      bool    `json:"leads,omitempty"`
	Copying    bool    `json:"copying,omitempty"`    // takes a copy, and needs the log from now on
	Copied     uint64  `json:"copied,omitempty"`     // bytes of the copy that it has
	Spare      bool    `json:"spare,omitempty"`      // the map has given it to others
	Halted     bool    `json:"halted,omitempty"`     // cannot follow the log, and does not need it
	Outdated   bool    `json:"outdated,omitempty"`   // its node needs a newer program, not a copy
	Lost       bool    `json:"lost,omitempty"`       // the log has lost records that it holds
	Damaged    bool    `json:"damaged,omitempty"`    // some of its database is known to be damaged
	Quarantine string  `json:"quarantine,omitempty"` // why it serves nothing, or empty
	Trouble    string  `json:"trouble,omitempty"`    // why it cannot read the log now, or empty
	DigestAt   wal.Pos `json:"digestAt,omitempty"`   // where Digest was taken; 0: none yet
	Digest     uint64  `json:"digest,omitempty,string"`
}

// An Announcer writes the announcements of one node. Its methods must not be called concurrently.
type Announcer struct {
	Store    Store
	revision uint64
	known    bool // revision belongs to the last announcement
}

// ErrNameTaken says that another process announces itself under the name of this node.
var ErrNameTaken = errors.New("another process is in the cluster under this name")

// Announce writes what a node says of itself. It takes the place of an announcement of an earlier
// session when takes allows it, which is asked once for each session found. Otherwise the error
// wraps ErrNameTaken.
func (a *Announcer) Announce(ctx context.Context, m Member, takes func(earlier Member) bool) error {
	value, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("announce %s: %w", m.Name, err)
	}
	key := keyMembers + m.Name
	if !a.known {
		e, err := a.Store.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("announce %s: %w", m.Name, err)
		}
		var earlier Member
		if e.Revision != 0 && json.Unmarshal(e.Value, &earlier) == nil && earlier.Session != m.Session && !takes(earlier) {
			return fmt.Errorf("announce %s: %w, at %s", m.Name, ErrNameTaken, earlier.Address)
		}
		a.revision = e.Revision
	}
	// After an error it is not known what stands there: perhaps this announcement.
	a.known = false
	if a.revision, err = a.Store.CompareAndSet(ctx, key, value, a.revision); err != nil {
		return fmt.Errorf("announce %s: %w", m.Name, err)
	}
	a.known = true
	return nil
}

// Forget removes the announcement of a node, so that it no longer belongs to the cluster. One that
// still lives announces itself again.
func Forget(ctx context.Context, s Store, name string) error {
	return remove(ctx, s, keyMembers+name)
}

// SetLeaving says whether a node is to leave the cluster: whether its replicas move to others.
func SetLeaving(ctx context.Context, s Store, name string, leaving bool) error {
	key := keyDepartures + name
	if !leaving {
		return remove(ctx, s, key)
	}
	e, err := s.Get(ctx, key)
	if err != nil || e.Revision != 0 {
		return err
	}
	_, err = s.CompareAndSet(ctx, key, []byte("{}"), 0)
	return err
}

func remove(ctx context.Context, s Store, key string) error {
	e, err := s.Get(ctx, key)
	if err != nil || e.Revision == 0 {
		return err
	}
	return s.Delete(ctx, key, e.Revision)
}
