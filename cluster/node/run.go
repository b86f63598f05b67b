package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
)

// stopTime bounds how long Run hands leases on before it returns.
const stopTime = 15 * time.Second

// New returns a node. Run lets it work.
func New(o Options) (*Node, error) {
	o = o.withDefaults()
	if !coord.ValidName(o.Name) {
		return nil, fmt.Errorf("%q is no name of a node: it has up to 63 letters, digits, '-', '_' and '.'", o.Name)
	}
	if o.Session == "" {
		o.Session = rand.Text()
	}
	n := &Node{o: o, announcer: coord.Announcer{Store: o.Store}, locals: make(map[int]*local), looked: make(chan struct{}), hurry: make(chan struct{}, 1), taskEnded: make(chan struct{}, 1), suspects: make(map[string]*suspect)}
	n.watcher = coord.NewWatcher(o.Store, o.Times, o.now)
	if n.o.start == nil {
		n.o.start = func(f func()) {
			n.tasks.Go(func() {
				f()
				select {
				case n.taskEnded <- struct{}{}:
				default: // close is awake already
				}
			})
		}
	}
	cluster, known, err := o.Disk.Known()
	if err != nil {
		return nil, fmt.Errorf("cluster of node %s: %w", o.Name, err)
	}
	n.cluster, n.known = cluster, known
	n.watcher.Know(known)
	have, err := o.Disk.List()
	if err != nil {
		return nil, fmt.Errorf("replicas of node %s: %w", o.Name, err)
	}
	for _, p := range have {
		n.locals[p] = &local{partition: p, state: closed}
	}
	return n, nil
}

// Run runs the node until ctx ends. Then it hands its leases on, for 15 s at most, and
// closes all replicas. It returns early, with an error, if the node may not be in the cluster: it
// wraps coord.ErrNameTaken or ErrOtherCluster. A process of the same name that was killed holds the
// node up until it counts as silent.
func (n *Node) Run(ctx context.Context) error {
	n.began = n.o.now()
	t := time.NewTicker(n.o.Times.Interval)
	defer t.Stop()
	work := context.WithoutCancel(ctx)
	done, deadline := ctx.Done(), (<-chan time.Time)(nil)
	for {
		if err := n.tick(work); err != nil {
			return errors.Join(err, n.close(work))
		}
		if n.leadsNothing() && deadline != nil {
			return n.close(work)
		}
		var soon <-chan time.Time
		if n.awaits() {
			soon = time.After(n.o.Times.Interval / hasty)
		}
		select {
		case <-t.C:
		case <-soon:
		case <-n.hurry:
		case <-deadline:
			return n.close(work)
		case <-done:
			done, deadline = nil, time.After(stopTime)
			n.Stop()
		}
	}
}

// tick looks at the cluster once and does what is due. It returns an error if the node may not be
// in the cluster.
func (n *Node) tick(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTime)
	v, err := n.watcher.Look(call)
	cancel()
	n.mu.Lock()
	n.unseen = err
	n.mu.Unlock()
	if err != nil {
		n.warn("the other nodes cannot be seen; replicas go on as they are", err)
	} else if err := n.keep(v); err != nil {
		return err
	} else {
		n.see(ctx, v)
	}
	if n.first.IsZero() {
		return nil // only a look shows whether an earlier session of this name lives
	}
	call, cancel = context.WithTimeout(ctx, callTime)
	defer cancel()
	began := n.o.now()
	e := n.announcer.Announce(call, n.member(), n.replaces)
	n.mu.Lock()
	n.muted = e
	n.mu.Unlock()
	switch {
	case errors.Is(e, coord.ErrNameTaken) && !n.announced && n.o.now().Sub(n.first) < 2*n.o.Times.Lease:
		// This may be the session before, which was killed: it falls silent.
		n.o.Logger.Warn("another process was in the cluster under the name of this node; waiting to see whether it lives", "err", e)
	case errors.Is(e, coord.ErrNameTaken):
		return e
	case e != nil:
		n.warn("this node cannot announce itself; others take its leases after a while", e)
	default:
		n.announced, n.told = true, began
		if err == nil {
			n.answered()
			n.decide(ctx)
		}
	}
	return nil
}

// warn logs what fails with each tick while the servers do not answer, once a minute.
func (n *Node) warn(what string, err error) {
	if n.failing.IsZero() {
		n.failing = n.o.now()
	}
	n.lines.Log(n.o.Logger.Warn, what, n.o.now(), what, "err", err)
}

// answered logs the end of what warn has logged.
func (n *Node) answered() {
	if n.failing.IsZero() {
		return
	}
	const what = "this node sees the others and announces itself again"
	now := n.o.now()
	if ok, _ := n.lines.Allow(what, now); ok {
		n.o.Logger.Info(what, "after", now.Sub(n.failing).Round(time.Millisecond))
	}
	n.failing = time.Time{}
}

func (n *Node) see(ctx context.Context, v *coord.View) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.probe(ctx, v)
	n.measure(v)
	if n.seesItself(v) {
		n.holds = n.told.Add(n.o.Times.Lease)
	}
	n.view, n.seen = v, n.o.now()
	if n.first.IsZero() {
		n.first = n.seen
	}
	n.wake()
}

// member returns what the node says of itself.
func (n *Node) member() coord.Member {
	full := n.o.DiskFull() // not with n.mu held
	n.mu.Lock()
	defer n.mu.Unlock()
	return coord.Member{
		Name: n.o.Name, Session: n.o.Session, Address: n.o.Address, Version: n.o.Version, Zone: n.o.Zone,
		Started: n.began, Stopping: n.stopping, Partitions: n.standings(), Cluster: n.cluster, DiskFull: full,
	}
}

// replaces says whether this node takes the place of an earlier session of its name: if that was
// at the same address, which only one process can have, or does not live any more.
func (n *Node) replaces(earlier coord.Member) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if earlier.Address == n.o.Address {
		return true
	}
	m := n.view.Members[n.o.Name]
	return m != nil && m.Session == earlier.Session && !m.Live
}

func (n *Node) leadsNothing() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.locals {
		if l.busy != "" || l.replica != nil && l.replica.Standing().Leads {
			return false
		}
	}
	return true
}

// demoteAll demotes all replicas that lead and have no task. Their logs give up what the servers do
// not answer, after a while: a task, or a replica that closes, would wait for it without end.
func (n *Node) demoteAll(ctx context.Context) {
	n.mu.Lock()
	var leaders []Replica
	for _, l := range n.locals {
		if l.replica != nil && l.busy == "" && l.replica.Standing().Leads {
			leaders = append(leaders, l.replica)
		}
	}
	n.mu.Unlock()
	var demoting sync.WaitGroup
	for _, r := range leaders {
		demoting.Go(func() {
			if err := r.Demote(ctx); err != nil {
				n.o.Logger.Warn("a leader has stopped with an error", "err", err)
			}
		})
	}
	demoting.Wait()
}

// close closes all replicas, once what is under way has ended.
func (n *Node) close(ctx context.Context) error {
	n.mu.Lock()
	n.closed = true
	for _, l := range n.locals {
		if l.cancel != nil {
			l.cancel()
		}
	}
	if n.cancelDigest != nil {
		n.cancelDigest()
	}
	n.mu.Unlock()
	all := make(chan struct{})
	go func() {
		defer close(all)
		n.tasks.Wait()
	}()
	for waiting := true; waiting; {
		n.demoteAll(ctx)
		select {
		case <-n.taskEnded: // its replica can be demoted now, and other tasks may wait for that
		case <-all:
			waiting = false
		}
	}
	n.demoteAll(ctx)
	n.mu.Lock()
	var open []Replica
	for _, l := range n.locals {
		if l.replica != nil {
			open = append(open, l.replica)
			l.replica, l.state = nil, closed
		}
	}
	n.wake()
	n.mu.Unlock()
	var err error
	for _, r := range open {
		err = errors.Join(err, r.Close())
	}
	return err
}
