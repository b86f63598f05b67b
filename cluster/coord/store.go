package coord

import (
	"context"
	"errors"
	"strconv"
)

// A Store keeps small values under keys. Its methods may be called concurrently.
//
// Reads may be out of date. That does no harm: whoever writes names the revision that was read, and
// is refused if it is not the newest. But a Store should not return what is older than what it has
// returned or written before.
type Store interface {
	// List returns the entries whose keys begin with prefix, "all." or a longer one that ends with
	// a dot, in order of keys and as of one moment.
	List(ctx context.Context, prefix string) ([]Entry, error)

	// Get returns the entry of a key. A key without a value has revision 0.
	Get(ctx context.Context, key string) (Entry, error)

	// CompareAndSet sets the value of a key if revision is its newest one, or is 0 and the key has
	// no value. It returns the new revision. After ErrConflict and ErrTooLong the value was not
	// set. After any other error it may have been set, or be set later.
	CompareAndSet(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)

	// Delete removes a key if revision is its newest one. Its errors are as of CompareAndSet.
	Delete(ctx context.Context, key string, revision uint64) error

	// Close gives up the connection.
	Close() error
}

// An Entry is a value and the key that it is kept under.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64 // grows with each change of any key
}

// What CompareAndSet says of a value that was not set.
var (
	ErrConflict = errors.New("the value has changed meanwhile")
	ErrTooLong  = errors.New("the servers take no message of that length: raise their max_payload")
)

// Keys of the store. They are part of the protocol between nodes.
const (
	keyCluster    = "all."
	keyMap        = keyCluster + "map"
	keyMembers    = keyCluster + "member."
	keyDepartures = keyCluster + "leave."
	keyLeases     = keyCluster + "lease."
)

func leaseKey(partition int) string { return keyLeases + strconv.Itoa(partition) }

// ValidName reports whether a node may have a name: up to 63 letters, digits, '-', '_' and '.',
// without a '.' at its ends or beside another.
func ValidName(name string) bool {
	last := byte('.')
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '.' && last != '.':
		default:
			return false
		}
		last = c
	}
	return len(name) <= 63 && last != '.'
}
