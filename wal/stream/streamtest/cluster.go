package streamtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rondo-db/rondo/wal/stream"
)

// A Cluster keeps one stream in memory. It outlives the processes that use it.
type Cluster struct {
	mu       sync.Mutex
	messages []message // dense: messages[i] has the sequence number purged+i+1
	purged   uint64    // messages up to this one were removed
	silent   time.Time // until when there is no leader
	asked    uint64    // for the bounds
	conns    uint64
	asks     int // calls of Read

	// Seed makes the servers fail, unless it is 0: requests and answers are lost, requests arrive
	// seconds late, the stream has no leader for 4 to 9 s, replicas lag, bounds are out of date.
	// It is for a bubble of testing/synctest. Set it before the cluster is used.
	Seed uint64

	// Refuse is asked before a message is stored. An error that wraps wal.ErrFull or wal.ErrRetry
	// refuses the message. Set it before the cluster is used.
	Refuse func() error
	// Damaged says whether replica shows a message with a flipped bit. Set it before the cluster is
	// used.
	Damaged func(replica int, msg []byte) bool
	// Lacks says whether replica has lost a message that it had. Set it before the cluster is used.
	Lacks func(replica int, seq uint64) bool
	// Behind says whether replica does not have a message yet, nor those behind it. Set it before
	// the cluster is used.
	Behind func(replica int, seq uint64) bool
	// Down says whether replica does not answer. Set it before the cluster is used.
	Down func(replica int) bool
}

type message struct {
	id     string
	data   []byte
	stored time.Time
}

// replicas is how many servers have the stream.
const replicas = 3

// maxMessage is small, so that records span messages.
const maxMessage = 64 << 10

// newest returns the sequence number of the newest message. c.mu is held.
func (c *Cluster) newest() uint64 { return c.purged + uint64(len(c.messages)) }

// Asks returns how often the servers were asked for messages.
func (c *Cluster) Asks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asks
}

// Lose removes all messages but the first n that are there, as servers do whose disks forget. With
// 0 the stream is one that never had a message.
func (c *Cluster) Lose(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages = c.messages[:n]; n == 0 {
		c.messages, c.purged = nil, 0
	}
}

// Connect returns a process's connection.
func (c *Cluster) Connect() stream.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns++
	return &conn{Cluster: c, number: c.conns}
}

type conn struct {
	*Cluster
	number    uint64
	published uint64 // attempts; mu guards it
	reads     uint64 // mu guards it
}

func (c *conn) Publish(ctx context.Context, after uint64, id string, msg []byte) (uint64, error) {
	if c.Refuse != nil {
		if err := c.Refuse(); err != nil {
			return 0, err
		}
	}
	if err := c.suffer(ctx, c.fate(), after, id, msg); err != nil {
		return 0, err
	}
	return c.store(after, id, msg)
}

// store compares and appends. A message that is stored already is not stored again.
func (c *Cluster) store(after uint64, id string, msg []byte) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.IndexFunc(c.messages, func(m message) bool { return m.id == id }); i >= 0 {
		return c.purged + uint64(i) + 1, nil
	}
	if c.newest() != after {
		return 0, stream.ErrConflict
	}
	c.messages = append(c.messages, message{id, append([]byte(nil), msg...), time.Now()})
	return c.newest(), nil
}

func (c *conn) Read(ctx context.Context, replica int, from uint64, n int, fn func(seq uint64, msg []byte) error) error {
	if replica >= replicas {
		return stream.ErrNoReplica
	}
	breaks, err := c.sufferRead(ctx, replica)
	if err != nil {
		return err
	}
	c.mu.Lock()
	from = max(from, c.purged+1)
	var got []message
	if from <= c.newest() {
		got = c.messages[from-c.purged-1:]
	}
	c.mu.Unlock()
	for i, m := range got {
		seq := from + uint64(i)
		switch {
		case n == 0 || !c.shows(replica, seq, m.stored):
			return nil
		case breaks == 0:
			return errBroken
		case c.Lacks != nil && c.Lacks(replica, seq):
			continue
		case c.Damaged != nil && c.Damaged(replica, m.data):
			m.data = append([]byte(nil), m.data...)
			m.data[len(m.data)/2] ^= 1
		}
		if err := fn(seq, m.data); err != nil {
			return err
		}
		n--
		breaks--
	}
	return nil
}

// Replica names a replica.
func (c *conn) Replica(replica int) string { return fmt.Sprintf("server %c", 'a'+replica) }

func (c *conn) Bounds(context.Context) (oldest, newest uint64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.purged + 1, max(c.purged, c.newest()-min(c.stale(), c.newest())), nil
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

func (c *conn) Announce() {}

func (c *conn) Listen(func()) (stop func(), err error) { return func() {}, nil }
