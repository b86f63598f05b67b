package clustered

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cluster/placement"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/stream"
	"github.com/rondo-db/rondo/wal/stream/streamtest"
)

const (
	simMachines   = 3
	simPartitions = 3
	simSenders    = 4
	simSeries     = 3 // of each sender
	simStart      = 1_000_000_000
)

// A simulation is a cluster of real nodes in one process, whose clock is the bubble's: engines,
// logs in streams, routers, and the protocol between nodes over connections in memory. The servers
// are models. They lose requests and answers, deliver late, are silent and lag.
type simulation struct {
	t        *testing.T
	r        *rand.Rand
	servers  *coordtest.Servers
	logs     [simPartitions]*streamtest.Cluster
	machines [simMachines]*machine

	acked, retried, kills, cuts, stops atomic.Int64
}

// A machine has a disk, which outlives its lives.
type machine struct {
	w       *simulation
	name    string
	dir     string
	lives   int
	mu      sync.Mutex // guards what follows
	life    *life      // nil: it is down
	closing sync.WaitGroup
}

// A life is a process.
type life struct {
	m      *machine
	name   string // of its connection to the servers
	gone   chan struct{}
	cut    atomic.Bool // it reaches nobody
	listen *simListener
	peers  *simPeers
	node   *node.Node
	router *router.Store
	stop   context.CancelFunc
	ended  chan struct{}
	err    error
	http   *http.Server
}

func (l *life) unreachable() bool {
	select {
	case <-l.gone:
		return true
	default:
		return l.cut.Load()
	}
}

// A wire is a connection of a life to the servers of a log.
type wire struct {
	stream.Server
	l *life
}

var errSevered = errors.New("the connection is severed")

// through makes a call, whose request or answer is lost if the machine is cut off.
func (c *wire) through(ctx context.Context, call func() error) error {
	lost := func() error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.l.gone:
			return errSevered
		}
	}
	if c.l.unreachable() {
		return lost()
	}
	err := call()
	if c.l.unreachable() {
		return lost()
	}
	return err
}

func (c *wire) Publish(ctx context.Context, after uint64, id string, msg []byte) (seq uint64, err error) {
	err = c.through(ctx, func() error {
		seq, err = c.Server.Publish(ctx, after, id, msg)
		return err
	})
	return seq, err
}

func (c *wire) Read(ctx context.Context, replica int, from uint64, n int, fn func(uint64, []byte) error) error {
	if replica >= simMachines {
		return stream.ErrNoReplica
	}
	return c.through(ctx, func() error { return c.Server.Read(ctx, replica, from, n, fn) })
}

func (c *wire) Bounds(ctx context.Context) (oldest, newest uint64, err error) {
	err = c.through(ctx, func() error {
		oldest, newest, err = c.Server.Bounds(ctx)
		return err
	})
	return oldest, newest, err
}

func (c *wire) Purge(ctx context.Context, below uint64) error {
	return c.through(ctx, func() error { return c.Server.Purge(ctx, below) })
}

// A simListener takes connections in memory.
type simListener struct {
	l     *life
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (s *simListener) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.done:
		return nil, net.ErrClosed
	}
}

func (s *simListener) Close() error {
	s.once.Do(func() { close(s.done) })
	return nil
}

func (s *simListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial connects a life to the one that now lives at an address.
func (w *simulation) dial(from *life) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		to := w.living(address)
		if to == nil {
			return nil, fmt.Errorf("%s: connection refused", address)
		}
		if from.unreachable() || to.unreachable() {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		a, b := net.Pipe()
		select {
		case to.listen.conns <- b:
			return &simConn{a, from, to}, nil
		case <-to.listen.done:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// A simConn breaks when one of its ends is cut off.
type simConn struct {
	net.Conn
	from, to *life
}

func (c *simConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.from.unreachable() || c.to.unreachable() {
		_ = c.Close() // nobody reads it any more
		return 0, net.ErrClosed
	}
	return n, err
}

func (c *simConn) Write(b []byte) (int, error) {
	if c.from.unreachable() || c.to.unreachable() {
		_ = c.Close() // nobody reads it any more
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// A simPeers finds out that a process has ended.
type simPeers struct {
	*peers
	w *simulation
}

func (p *simPeers) Refuses(_ context.Context, m coord.Member) bool {
	return p.w.living(m.Address) == nil
}

// living returns the life at an address, or nil.
func (w *simulation) living(address string) *life {
	for _, m := range w.machines {
		if m.name+":1" == address {
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.life
		}
	}
	return nil
}

// up starts a process on a machine.
func (m *machine) up() {
	w := m.w
	m.lives++
	l := &life{m: m, name: fmt.Sprint(m.name, ".", m.lives), gone: make(chan struct{}), ended: make(chan struct{})}
	l.listen = &simListener{l: l, conns: make(chan net.Conn), done: make(chan struct{})}
	l.peers = &simPeers{&peers{options: peer.Options{Token: "t", Dial: w.dial(l)}, nodes: make(map[string]*peerNode)}, w}
	var err error
	logger := slog.New(slog.DiscardHandler)
	if seedtest.Repeats() {
		logger = slog.New(slog.NewTextHandler(os.Stderr, nil)).With("life", l.name)
	}
	within := func() (context.Context, context.CancelFunc) {
		return context.WithTimeout(context.Background(), openTime)
	}
	folder, err := node.NewFolder(m.dir, node.FolderOptions{
		Store: func() core.Options {
			return core.Options{Sync: wal.SyncNone, Memory: 64 << 20, Logger: logger}
		},
		OpenLog: func(p int, after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
			ctx, cancel := within()
			defer cancel()
			id, anew, err := l.node.Log(p, after)
			if err != nil {
				return nil, err
			}
			return stream.Open(ctx, &wire{w.logs[p].Connect(), l}, stream.Options{After: after, ID: id, Anew: anew, OnDurable: onDurable, Logger: logger})
		},
		Follow: func(p int, _ wal.Pos) (core.Source, error) {
			ctx, cancel := within()
			defer cancel()
			return stream.OpenReader(ctx, &wire{w.logs[p].Connect(), l}, stream.ReaderOptions{Logger: logger})
		},
	})
	if err == nil {
		l.node, err = node.New(node.Options{
			Name: m.name, Address: m.name + ":1", Store: w.servers.Client(l.name), Disk: folder, Peers: l.peers, Moves: 4, Logger: logger,
			DigestInterval: time.Minute, Times: coord.Times{Gone: time.Hour},
		})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	s := &peer.Server{Partition: func(p int) (core.Engine, error) {
		if r, ok := l.node.Local(p); ok {
			return r.Engine(), nil
		}
		return nil, fmt.Errorf("no replica of partition %d: %w", p, core.ErrUnavailable)
	}, Leads: l.node.Leads, Token: "t"}
	path, h, err := s.Handler()
	if err != nil {
		w.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle(path, h)
	l.http = &http.Server{Handler: mux, Protocols: new(http.Protocols), ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)}
	l.http.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = l.http.Serve(l.listen) }() // until it is closed
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	go func() {
		defer close(l.ended)
		l.err = l.node.Run(ctx)
	}()
	m.mu.Lock()
	m.life = l
	m.mu.Unlock()
}

// close ends what a life has, in the background if it was killed.
func (l *life) close() {
	l.stop()
	<-l.ended
	_ = l.http.Close() // its connections end
	l.peers.close()
}

// kill ends a process at once: what it has on disk is copied, and what it does from now on is done
// to nobody.
func (m *machine) kill() {
	l := m.life
	synctest.Wait() // no file is being written
	dir := fmt.Sprint(filepath.Dir(m.dir), string(filepath.Separator), m.name, ".", m.lives)
	if err := os.CopyFS(dir, os.DirFS(m.dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.w.t.Fatal(err)
	}
	m.mu.Lock()
	m.life = nil
	m.mu.Unlock()
	m.w.servers.Cut(l.name, true)
	close(l.gone)
	m.dir = dir
	m.closing.Go(l.close)
}

// end ends a process in order.
func (m *machine) end() {
	l := m.life
	l.stop()
	<-l.ended
	m.mu.Lock()
	m.life = nil
	m.mu.Unlock()
	l.close()
	close(l.gone)
	if l.err != nil {
		m.w.t.Errorf("%s: %v", m.name, l.err)
	}
}

// cutOff cuts a machine off from all others, or ends that.
func (m *machine) cutOff(off bool) {
	if l := m.life; l != nil {
		l.cut.Store(off)
		m.w.servers.Cut(l.name, off)
	}
}

// store returns the engine of a machine, if it is up and knows the map.
func (m *machine) store() core.Engine {
	m.mu.Lock()
	l := m.life
	m.mu.Unlock()
	if l == nil || l.node.Partitions() == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l.router == nil {
		r, err := router.New(l.node, router.Options{})
		if err != nil {
			m.w.t.Error(err)
			return nil
		}
		l.router = r
	}
	return l.router
}

// A simSender sends sample after sample of its series, each until it is acknowledged.
type simSender struct {
	w    *simulation
	name string
	r    *rand.Rand
	at   int // the machine
	done int // samples that are acknowledged
}

func (s *simSender) path(i int) string { return fmt.Sprintf("sim/%s/%d", s.name, i) }

// value is the value of sample n of series i.
func value(i, n int) float64 { return float64(i*1_000_000 + n) }

// try calls fn with machine after machine until it succeeds.
func (s *simSender) try(ctx context.Context, fn func(ctx context.Context, e core.Engine) error) {
	for ctx.Err() == nil {
		if e := s.w.machines[s.at].store(); e != nil {
			call, cancel := context.WithTimeout(ctx, 40*time.Second)
			err := fn(call, e)
			cancel()
			if err == nil {
				return
			}
			if !errors.Is(err, core.ErrUnavailable) && !errors.Is(err, core.ErrNotLeader) && !errors.Is(err, context.DeadlineExceeded) &&
				!errors.Is(err, core.ErrClosed) && !errors.Is(err, wal.ErrRetry) && !errors.Is(err, context.Canceled) {
				s.w.t.Errorf("%s: sample %d: %v", s.name, s.done+1, err)
				return
			}
		}
		s.w.retried.Add(1)
		s.at = (s.at + 1) % simMachines
		_ = sleep.For(ctx, time.Duration(100+s.r.IntN(400))*time.Millisecond) // the loop looks
	}
}

func (s *simSender) run(ctx, stop context.Context) {
	var refs [simSeries]core.Ref
	d, err := rra.ParseDefinition(1, []string{"DS:x:GAUGE:1000:U:U", "RRA:LAST:0:1:20000"})
	if err != nil {
		s.w.t.Error(err)
		return
	}
	s.try(ctx, func(ctx context.Context, e core.Engine) error {
		var specs []core.Spec
		for i := range simSeries {
			specs = append(specs, core.Spec{Path: s.path(i), Definition: d, Start: rra.Seconds(simStart)})
		}
		out, err := e.CreateBatch(ctx, specs)
		for i := range out {
			if err == nil && out[i].Err != nil && !errors.Is(out[i].Err, core.ErrExists) {
				err = out[i].Err
			}
			refs[i] = out[i].Ref
		}
		return err
	})
	for stop.Err() == nil && ctx.Err() == nil {
		n := s.done + 1
		var b core.Batch
		s.try(ctx, func(ctx context.Context, e core.Engine) error {
			b.Reset()
			for i, ref := range refs {
				b.Add(ref, rra.Seconds(simStart+int64(n)), rra.Float(value(i, n)))
			}
			err := core.Append(ctx, e, &b)
			if x, ok := errors.AsType[*core.RejectedError](err); ok && x.Other == 0 {
				return nil // stored by an attempt before
			}
			return err
		})
		if ctx.Err() == nil {
			s.done = n
			s.w.acked.Add(1)
		}
		_ = sleep.For(stop, time.Duration(s.r.IntN(300))*time.Millisecond) // the loop looks
	}
}

// mishap lets something go wrong for a while.
func (w *simulation) mishap() {
	m := w.machines[w.r.IntN(simMachines)]
	some := time.Duration(1+w.r.IntN(20)) * time.Second
	switch w.r.IntN(4) {
	case 0, 1:
		w.kills.Add(1)
		m.kill()
		time.Sleep(some)
		m.up()
	case 2:
		w.cuts.Add(1)
		m.cutOff(true)
		time.Sleep(some)
		m.cutOff(false)
	case 3:
		w.stops.Add(1)
		m.end()
		time.Sleep(some / 4)
		m.up()
	}
}

func simulate(t *testing.T, seed uint64, dir string) *simulation {
	w := &simulation{t: t, r: rand.New(rand.NewPCG(seed, 9)), servers: coordtest.New(time.Now, seed)}
	for p := range w.logs {
		w.logs[p] = &streamtest.Cluster{Seed: seed<<8 + uint64(p) + 1}
	}
	var members []placement.Member
	for i := range w.machines {
		m := &machine{w: w, name: string(rune('a' + i))}
		m.dir = filepath.Join(dir, m.name)
		w.machines[i] = m
		members = append(members, placement.Member{Name: m.name})
	}
	pm, err := placement.New(simPartitions, 2+w.r.IntN(2), members)
	if err != nil {
		t.Fatal(err)
	}
	pm.Cluster = "simulated"
	for {
		if _, err := coord.WriteMap(context.Background(), w.servers.Truth(), pm, 0); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	for _, m := range w.machines {
		m.up()
	}
	ctx, cancel := context.WithCancel(context.Background())
	stop, stopSending := context.WithCancel(ctx)
	var sending sync.WaitGroup
	senders := make([]*simSender, simSenders)
	for i := range senders {
		s := &simSender{w: w, name: fmt.Sprint("s", i), r: rand.New(rand.NewPCG(seed, uint64(i))), at: i % simMachines}
		senders[i] = s
		sending.Go(func() { s.run(ctx, stop) })
	}
	time.Sleep(30 * time.Second)
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
		w.mishap()
		time.Sleep(time.Duration(w.r.IntN(15)) * time.Second)
	}
	w.servers.Heal()
	time.Sleep(time.Minute)
	stopSending()
	late := time.AfterFunc(10*time.Minute, cancel)
	sending.Wait()
	late.Stop()
	if ctx.Err() != nil {
		t.Error("ten minutes after the last fault not everything is acknowledged")
	}
	w.compare(senders)
	cancel()
	for _, m := range w.machines {
		m.end()
		m.closing.Wait()
	}
	return w
}

// compare waits until all replicas have the same, and looks for every acknowledged sample in each.
func (w *simulation) compare(senders []*simSender) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for p := range simPartitions {
		err := w.digests(ctx, p)
		for ; err != nil && ctx.Err() == nil; err = w.digests(ctx, p) { // the node takes some, too
			time.Sleep(time.Second)
		}
		if err != nil {
			w.t.Errorf("partition %d: %v", p, err)
		}
	}
	for _, s := range senders {
		for i := range simSeries {
			key, _, err := core.CleanPath(s.path(i))
			if err != nil {
				w.t.Fatal(err)
			}
			p := router.Partition(key, simPartitions)
			for _, m := range w.machines {
				if r, ok := m.life.node.Local(p); ok {
					w.look(ctx, m, r.Engine(), s, i)
				}
			}
		}
	}
}

// digests compares the replicas of a partition.
func (w *simulation) digests(ctx context.Context, p int) error {
	var all []node.Replica
	var lead node.Replica
	for _, m := range w.machines {
		if r, ok := m.life.node.Local(p); ok {
			if all = append(all, r); r.Standing().Leads {
				lead = r
			}
		}
	}
	if lead == nil || len(all) < 2 {
		return fmt.Errorf("%d replicas, leader: %v", len(all), lead != nil)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	d, err := lead.TakeDigest(ctx, 1)
	if err != nil {
		return err
	}
	for _, r := range all {
		switch sum, err := r.AwaitDigest(ctx, d.At); {
		case err != nil:
			return fmt.Errorf("a replica has no digest at position %d: %w", d.At, err)
		case sum != d.Sum:
			return fmt.Errorf("at position %d a replica has the digest %x, and the leader has %x", d.At, sum, d.Sum)
		}
	}
	return nil
}

// look compares the rows of a series of a replica with what was acknowledged.
func (w *simulation) look(ctx context.Context, m *machine, e core.Engine, s *simSender, i int) {
	ref, err := e.Lookup(s.path(i))
	if err != nil {
		w.t.Errorf("%s: %s: %v", m.name, s.path(i), err)
		return
	}
	rows, err := core.Fetch(ctx, e, ref, 0, simStart, simStart+int64(s.done))
	if err != nil {
		w.t.Errorf("%s: %s: %v", m.name, s.path(i), err)
		return
	}
	for n := 1; n <= s.done; n++ {
		if at := int((simStart+int64(n)-rows.Start)/rows.Step) - 1; at < 0 || at >= len(rows.Values) || rows.Values[at] != value(i, n) {
			w.t.Errorf("%s: %s: sample %d of %d is missing or another one", m.name, s.path(i), n, s.done)
			return
		}
	}
}

// TestSimulationOfStores runs clusters of real nodes over simulated servers while nodes are killed,
// end and are cut off. Every acknowledged sample is then in every replica, and replicas are equal
// bit for bit. A seed repeats the faults, but not which goroutine runs first.
func TestSimulationOfStores(t *testing.T) {
	all := seedtest.Many(t, 4)
	dir := t.TempDir()
	if shm, err := os.MkdirTemp("/dev/shm", "rondo-simulation"); err == nil { // it need not last
		dir = shm
		defer func() { _ = os.RemoveAll(shm) }() // it is memory, until then
	}
	// One bubble: what the packages keep for use again belongs to it.
	synctest.Test(t, func(t *testing.T) {
		for _, seed := range all {
			w := simulate(t, seed, filepath.Join(dir, fmt.Sprint(seed)))
			t.Logf("seed %d: %d batches acknowledged, %d attempts made again; %d kills, %d cuts, %d stops", seed, w.acked.Load(), w.retried.Load(), w.kills.Load(), w.cuts.Load(), w.stops.Load())
			if w.acked.Load() < 100 {
				t.Error("hardly anything was acknowledged")
			}
			if t.Failed() {
				t.Fatalf("RONDO_SEED=%d", seed)
			}
			_ = os.RemoveAll(filepath.Join(dir, fmt.Sprint(seed))) // dir goes in the end
		}
	})
}
