package streamtest

import (
	"context"
	"sync"

	"github.com/rondo-db/rondo/wal/stream"
)

// A Cluster keeps one stream in memory. It outlives the processes that use it.
type Cluster struct {
	mu       sync.Mutex
	messages []message // dense: messages[i] has the sequence number purged+i+1
	purged   uint64    // messages up to this one were removed

	// Refuse is asked before a message is stored. An error that wraps wal.ErrFull or wal.ErrRetry
	// refuses the message. Set it before the cluster is used.
	Refuse func() error
	// Damaged says whether replica shows a message with a flipped bit. Set it before the cluster is
	// used.
	Damaged func(replica int, msg []byte) bool
}

type message struct {
	id   string
	data []byte
}

// replicas is how many servers have the stream.
const replicas = 3

// maxMessage is small, so that records span messages.
const maxMessage = 64 << 10

// newest returns the sequence number of the newest message. c.mu is held.
func (c *Cluster) newest() uint64 { return c.purged + uint64(len(c.messages)) }

// Connect returns a process's connection.
func (c *Cluster) Connect() stream.Server { return &conn{c} }

type conn struct{ *Cluster }

func (c *conn) Publish(_ context.Context, after uint64, id string, msg []byte) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Refuse != nil {
		if err := c.Refuse(); err != nil {
			return 0, err
		}
	}
	if c.newest() != after {
		return 0, stream.ErrConflict
	}
	c.messages = append(c.messages, message{id, append([]byte(nil), msg...)})
	return c.newest(), nil
}

func (c *conn) Read(_ context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	if replica >= replicas {
		return stream.ErrNoReplica
	}
	c.mu.Lock()
	from = max(from, c.purged+1)
	var got []message
	if from <= c.newest() {
		got = c.messages[from-c.purged-1:]
	}
	c.mu.Unlock()
	for i, m := range got[:min(n, len(got))] {
		if c.Damaged != nil && c.Damaged(replica, m.data) {
			m.data = append([]byte(nil), m.data...)
			m.data[len(m.data)/2] ^= 1
		}
		if err := fn(from+uint64(i), m.data); err != nil {
			return err
		}
	}
	return nil
}

func (c *conn) Bounds(context.Context) (oldest, newest uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.purged + 1, c.newest(), nil
}

func (c *conn) Purge(_ context.Context, below uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if below > c.purged+1 {
		n := min(below-c.purged-1, uint64(len(c.messages)))
		c.messages = c.messages[n:]
		c.purged += n
	}
	return nil
}

func (c *conn) MaxMessage() int { return maxMessage }

func (c *conn) Close() error { return nil }
