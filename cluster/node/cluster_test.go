package node_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
)

const (
	start      = 1_700_000_000
	partitions = 4
)

// A cluster is nodes in this process, with stores of the engine over simulated streams.
type cluster struct {
	t       *testing.T
	servers *coordtest.Servers
	logs    [partitions]streamtest.Cluster
	dir     string
	// source wraps the log that a node follows, if it is not nil.
	source func(node string, s core.Source) core.Source
	mute   atomic.Bool // the servers answer, and take nothing

	mu      sync.Mutex // guards running
	running map[string]*running
}

// running is a node that runs.
type running struct {
	*node.Node
	stop  context.CancelFunc
	ended chan error
}

// newCluster returns a cluster whose map has two replicas of each partition on some nodes. None of
// them runs yet. The test stops those that run at its end.
func newCluster(t *testing.T, names ...string) *cluster {
	c := &cluster{t: t, servers: coordtest.New(time.Now, 0), dir: t.TempDir(), running: make(map[string]*running)}
	t.Cleanup(func() {
		for _, name := range []string{"a", "b", "c", "d"} {
			if c.node(name) != nil {
				c.halt(name)
			}
		}
	})
	var members []placement.Member
	for _, name := range names {
		members = append(members, placement.Member{Name: name})
	}
	m, err := placement.New(partitions, 2, members)
	if err != nil {
		t.Fatal(err)
	}
	m.Cluster = "tested"
	if _, err := coord.WriteMap(t.Context(), c.servers.Truth(), m, 0); err != nil {
		t.Fatal(err)
	}
	return c
}

// run starts a node, on the disk that it had before.
func (c *cluster) run(name string) *running {
	c.t.Helper()
	disk, err := node.NewFolder(filepath.Join(c.dir, name), node.FolderOptions{
		Store: func() core.Options { return core.Options{Memory: 64 << 20} },
		OpenLog: func(p int, after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
			return stream.Open(c.t.Context(), c.logs[p].Connect(), stream.Options{After: after, OnDurable: onDurable, Linger: -1})
		},
		Follow: func(p int, _ wal.Pos) (core.Source, error) {
			r, err := stream.OpenReader(c.t.Context(), c.logs[p].Connect(), stream.ReaderOptions{})
			if err != nil || c.source == nil {
				return r, err
			}
			return c.source(name, r), nil
		},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	n, err := node.New(node.Options{
		Name: name, Address: name, Store: muted{c.servers.Client(name), &c.mute}, Disk: disk, Peers: c,
		Times:            coord.Times{Interval: 20 * time.Millisecond, Lease: 2 * time.Second, Gone: time.Hour},
		TruncateInterval: 100 * time.Millisecond, DigestInterval: 100 * time.Millisecond,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{n, stop, make(chan error, 1)}
	go func() { r.ended <- n.Run(ctx) }()
	c.mu.Lock()
	c.running[name] = r
	c.mu.Unlock()
	if err := n.Wait(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return r
}

// node returns a node that runs, or nil.
func (c *cluster) node(name string) *running {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running[name]
}

// halt stops a node, which hands its leases on.
func (c *cluster) halt(name string) {
	c.t.Helper()
	r := c.node(name)
	r.stop()
	if err := <-r.ended; err != nil {
		c.t.Errorf("%s ended: %v", name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, name)
}

func (c *cluster) Refuses(context.Context, coord.Member) bool { return false }

// Partition reaches another node of the process.
func (c *cluster) Partition(m coord.Member, p int) (node.Partition, error) {
	if r := c.node(m.Name); r != nil {
		if x, ok := r.Local(p); ok {
			return x.Engine().(*core.Store), nil
		}
	}
	return nil, fmt.Errorf("%s has no partition %d", m.Name, p)
}

// eventually waits until fn says that all is well.
func (c *cluster) eventually(what string, fn func() string) {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		problem := fn()
		if problem == "" {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: %s", what, problem)
		}
	}
}

// alike says what is not yet alike in the replicas of the map, or nothing.
func (c *cluster) alike() string {
	v := c.node("a").View()
	for p, part := range v.Map.Partitions {
		if part.Move != nil {
			return fmt.Sprintf("partition %d moves", p)
		}
		all, err := c.node("a").Compare(c.t.Context(), p)
		if err != nil {
			return err.Error()
		}
		for _, x := range all {
			if x.Err != nil || x.At != all[0].At || x.Sum != all[0].Sum {
				return fmt.Sprintf("partition %d has the digests %+v", p, all)
			}
		}
	}
	return ""
}

// TestCluster lets three nodes with stores of the engine share partitions. Samples are sent to a
// router while nodes stop, come back, lose their disk and join: none that was acknowledged is
// missing, and all replicas are alike.
func TestCluster(t *testing.T) {
	c := newCluster(t, "a", "b", "c")
	w := c.begin("a", "b", "c")
	c.halt("b") // hands its leases on
	w.append(10)
	c.run("b")
	w.append(10)
	c.eventually("after a node was away", c.alike)
	w.check()
	c.run("d") // takes replicas of the others
	c.eventually("after a node has joined", func() string {
		if c.node("d").Counts().Copies == 0 {
			return "it has taken no copy"
		}
		return c.alike()
	})
	w.append(10)
	c.eventually("after more samples", c.alike)
	w.check()
}

// begin runs nodes, and returns a writer to the first one, whose first samples all of them have.
func (c *cluster) begin(names ...string) *writer {
	c.t.Helper()
	for _, name := range names {
		c.run(name)
	}
	s, err := router.New(c.node(names[0]), router.Options{Wait: 2 * time.Minute})
	if err != nil {
		c.t.Fatal(err)
	}
	w := &writer{t: c.t, s: s}
	w.create(20)
	w.append(10)
	c.eventually("after the first samples", c.alike)
	return w
}

// A writer sends samples, and remembers them.
type writer struct {
	t    *testing.T
	s    *router.Store
	refs []core.Ref
	sent int // of each series
}

func (w *writer) create(n int) {
	w.t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:20:U:U", "RRA:LAST:0.5:1:1000"})
	if err != nil {
		w.t.Fatal(err)
	}
	var specs []core.Spec
	for i := range n {
		specs = append(specs, core.Spec{Path: fmt.Sprintf("series/%d", i), Definition: d, Start: rra.Seconds(start)})
	}
	made, err := w.s.CreateBatch(w.t.Context(), specs)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, x := range made {
		if x.Err != nil {
			w.t.Fatal(x.Err)
		}
		w.refs = append(w.refs, x.Ref)
	}
}

// append sends samples of all series, and each batch again until it is acknowledged.
func (w *writer) append(n int) {
	w.t.Helper()
	for range n {
		w.sent++
		for again := false; ; {
			var b core.Batch
			for i, ref := range w.refs {
				b.Add(ref, rra.Seconds(start+10*int64(w.sent)), rra.Float(float64(1000*i+w.sent)))
			}
			err := core.Append(w.t.Context(), w.s, &b)
			if rejected, ok := errors.AsType[*core.RejectedError](err); again && ok && rejected.Other == 0 {
				err = nil // what is late was stored by an attempt that had no answer, or in part
			}
			if err == nil {
				break
			}
			again = true
			if !errors.Is(err, core.ErrUnavailable) {
				w.t.Fatal(err)
			}
		}
	}
}

// check reads every sample back.
func (w *writer) check() {
	w.t.Helper()
	for i, ref := range w.refs {
		rows, err := core.Fetch(w.t.Context(), w.s, ref, 0, start, start+10*int64(w.sent))
		if err != nil {
			w.t.Fatal(err)
		}
		for k, x := range rows.Values {
			if want := float64(1000*i + k + 1); x != want {
				w.t.Errorf("series %d, sample %d: %v, want %v", i, k+1, x, want)
			}
		}
		if len(rows.Values) != w.sent {
			w.t.Errorf("series %d has %d rows, want %d", i, len(rows.Values), w.sent)
		}
	}
}
