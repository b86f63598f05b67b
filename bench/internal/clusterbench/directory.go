package clusterbench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/engine/core"
)

// askTime bounds a question to the servers: an answer may be lost.
const askTime = 5 * time.Second

// lookTime is the time between two looks at what the nodes announce.
const lookTime = 200 * time.Millisecond

// A directory finds the leaders of partitions for a router of this process, which is no node. It
// is a router.Directory.
type directory struct {
	partitions int
	bucket     *natskv.Store
	options    peer.Options
	stop       context.CancelFunc
	looking    sync.WaitGroup

	mu     sync.Mutex // guards what follows
	view   *coord.View
	failed error         // why the last look has failed
	looked chan struct{} // closed at the next look
	nodes  map[string]*connection
}

// A connection is to one start of a node.
type connection struct {
	*peer.Node
	session string
}

// newDirectory waits until the servers answer, and looks at what the nodes announce.
func newDirectory(ctx context.Context, s *servers, token string, partitions int) (*directory, error) {
	var bucket *natskv.Store
	err := wait(ctx, "the nats-servers do not answer", func() (bool, error) {
		try, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		for _, p := range s.processes {
			if err := p.died(); err != nil {
				return false, err
			}
		}
		var err error
		if bucket == nil {
			bucket, err = natskv.Connect(try, natskv.Options{URL: strings.Join(s.urls, ","), Bucket: "rondo-" + clusterName})
		}
		if err == nil {
			_, err = bucket.List(try, "all.")
		}
		return err == nil, nil
	})
	if err != nil {
		return nil, err
	}
	d := &directory{
		partitions: partitions, bucket: bucket, options: peer.Options{Token: token},
		looked: make(chan struct{}), nodes: make(map[string]*connection),
	}
	ctx, d.stop = context.WithCancel(ctx)
	d.looking.Go(func() { d.look(ctx) })
	return d, nil
}

// look reads what the nodes announce, again and again.
func (d *directory) look(ctx context.Context) {
	w := coord.NewWatcher(d.bucket, coord.Times{}, nil)
	for ctx.Err() == nil {
		timed, cancel := context.WithTimeout(ctx, askTime)
		v, err := w.Look(timed)
		cancel()
		d.mu.Lock()
		if d.failed = err; err == nil {
			d.view = v
		}
		close(d.looked)
		d.looked = make(chan struct{})
		d.mu.Unlock()
		select {
		case <-time.After(lookTime):
		case <-ctx.Done():
		}
	}
}

// close ends all connections.
func (d *directory) close() error {
	d.stop()
	d.looking.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range d.nodes {
		n.Close()
	}
	clear(d.nodes)
	return d.bucket.Close()
}

// seen returns the newest view, or nil.
func (d *directory) seen() *coord.View {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.view
}

// Partitions is as router.Directory has it.
func (d *directory) Partitions() int { return d.partitions }

// Reader is as router.Directory has it: the leader.
func (d *directory) Reader(ctx context.Context, p int) (core.Engine, error) { return d.Leader(ctx, p) }

// Leader is as router.Directory has it.
func (d *directory) Leader(ctx context.Context, p int) (core.Engine, error) {
	for {
		d.mu.Lock()
		again, failed := d.looked, d.failed
		var c *peer.Client
		var err error
		if d.view != nil {
			if m := d.view.Leader(p); m != nil {
				if st, ok := m.Standing(p); ok && st.Leads {
					c, err = d.client(&m.Member, p)
				}
			}
		}
		d.mu.Unlock()
		if c != nil || err != nil {
			return c, err
		}
		select {
		case <-again:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("partition %d has no leader: %w: %w", p, core.ErrUnavailable, ctx.Err()), failed)
		}
	}
}

// client returns a partition of a node. The caller holds mu.
func (d *directory) client(m *coord.Member, p int) (*peer.Client, error) {
	n := d.nodes[m.Name]
	if n == nil || n.session != m.Session {
		conn, err := peer.NewNode("http://"+m.Address, d.options)
		if err != nil {
			return nil, err
		}
		if n != nil {
			n.Close()
		}
		n = &connection{conn, m.Session}
		d.nodes[m.Name] = n
	}
	return n.Partition(p), nil
}

// replicas returns the replicas of a partition that are current.
func (d *directory) replicas(p int) (all []*peer.Client) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.view.Map.Partitions[p].Nodes {
		if m := d.view.Members[name]; m != nil && m.Live {
			if c, err := d.client(&m.Member, p); err == nil {
				all = append(all, c)
			}
		}
	}
	return all
}
