package coord

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rondo-db/rondo/cluster/placement"
)

// A Lease says which node should lead a partition. It is for liveness only: what keeps a second
// writer out is the stream of the partition, which refuses the records of whoever has not claimed
// it last. See the package's comment.
type Lease struct {
	Node    string `json:"node"` // empty: nobody
	Session string `json:"session"`
	Term    uint64 `json:"term"` // grows by one when it is given to another one, for logs and eyes

	// Log is the identity of the partition's log, a wal.ID as text, which the first leader names;
	// empty: nobody has led the partition yet. A log that is empty, or another one, is not the
	// partition's.
	Log string `json:"log,omitempty"`
	// Begin lets the replica of Node begin that log anew behind what it holds, if the log has lost
	// its end: an operator has said so.
	Begin bool `json:"begin,omitempty"`

	Revision uint64 `json:"-"` // in the store; 0: there was never a lease
}

// For returns the lease that follows on l and is a node's; without a node, nobody's.
func (l Lease) For(node, session string) Lease {
	return Lease{Node: node, Session: session, Term: l.Term + 1, Log: l.Log}
}

// WriteLease writes a lease of a partition in place of a former one, as it was read. The error
// wraps ErrConflict if the lease is another one meanwhile; after another error the lease may have
// been written.
func WriteLease(ctx context.Context, s Store, partition int, former, l Lease) (Lease, error) {
	value, err := json.Marshal(l)
	if err == nil {
		l.Revision, err = s.CompareAndSet(ctx, leaseKey(partition), value, former.Revision)
	}
	if err != nil {
		return former, fmt.Errorf("lease of partition %d: %w", partition, err)
	}
	return l, nil
}

// WriteMap writes the map of partitions in place of the one with a revision, or the first one with
// 0. The error wraps ErrConflict if the map is another one meanwhile; after another error the map
// may have been written.
func WriteMap(ctx context.Context, s Store, m placement.Map, revision uint64) (uint64, error) {
	err := m.Validate()
	if err == nil {
		var value []byte
		if value, err = json.Marshal(m); err == nil {
			revision, err = s.CompareAndSet(ctx, keyMap, value, revision)
		}
	}
	if err != nil {
		return 0, fmt.Errorf("map of partitions: %w", err)
	}
	return revision, nil
}
