package clustered

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/cluster/natskv"
	"github.com/rondo-db/rondo/cluster/node"
	"github.com/rondo-db/rondo/cluster/peer"
	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/internal/sleep"
	"github.com/rondo-db/rondo/wal"
	"github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
)

// openTime bounds how long the log of a partition takes to open.
const openTime = 30 * time.Second

// A Member is a server that is a node of a cluster.
type Member struct {
	o      Options
	folder *node.Folder
	bucket *natskv.Store
	logs   *jetstream.Conn
	peers  *peers
	listen net.Listener
	http   *http.Server
	node   *node.Node
	router *router.Store
	detour *detour.Detour

	surveyor *surveyor
	keeping  sync.WaitGroup // what goes on beside the node

	readers sync.Map // *stream.Reader by partition: the last one that was opened

	stop   context.CancelFunc
	ended  chan struct{} // closed when the node has ended
	err    error         // of the node, once ended is closed
	closed sync.Once
}

// Join makes this process a node of the cluster. The first node also makes the cluster. Join
// returns when the map of partitions is known, or when ctx ends. fail is called if the node cannot
// go on.
func Join(ctx context.Context, o Options, fail context.CancelCauseFunc) (*Member, error) {
	m := &Member{o: o, ended: make(chan struct{}), stop: func() {}}
	if err := m.join(ctx, fail); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Member) join(ctx context.Context, fail context.CancelCauseFunc) (err error) {
	o := &m.o
	if m.folder, err = node.NewFolder(o.Dir, node.FolderOptions{Store: m.storeOptions, OpenLog: m.openLog, Follow: m.follow}); err != nil {
		return err
	}
	if err := m.connect(ctx); err != nil {
		return fmt.Errorf("--cluster: %w", err)
	}
	m.peers = &peers{options: peer.Options{Token: o.Token, TLS: o.PeerTLS}, nodes: make(map[string]*peerNode)}
	if m.listen, err = net.Listen("tcp", m.o.Listen); err != nil {
		return fmt.Errorf("--cluster-listen: %w", err)
	}
	if err := m.checkAdmitted(ctx, m.bucket); err != nil {
		return err
	}
	if err := m.startNode(fail); err != nil {
		return err
	}
	if err := m.servePeers(fail); err != nil {
		return err
	}
	if err := m.found(ctx); err != nil {
		return err
	}
	if m.surveyor, err = startSurveyor(&o.Servers, m.bucket, newRelief(m.node.Local, &m.keeping).found); err != nil {
		return err
	}
	o.warnIgnored(m.node.Partitions(), m.node.View().Map.Replicas)
	if m.router, err = router.New(m.node, router.Options{MaxSeries: o.MaxSeries, Memory: o.Store.Memory / 4}); err != nil {
		return err
	}
	return m.openDetour()
}

// connect connects to the servers. They may be starting, too, so it tries again until ctx ends.
func (m *Member) connect(ctx context.Context) error {
	var told loglimit.Limit[string] // of each reason
	for {
		try, cancel := context.WithTimeout(ctx, connectTime)
		err := m.connectOnce(try)
		cancel()
		if _, wrong := errors.AsType[*stream.SettingError](err); err == nil || wrong || errors.Is(err, natskv.ErrUnfit) {
			return err
		}
		_ = m.disconnect() // err says what is wrong
		if ok, _ := told.Allow(err.Error(), time.Now()); ok {
			m.o.Logger.Warn("this node cannot use the servers of the cluster yet, and tries again", "servers", natsconn.Redacted(m.o.URL), "err", err)
		}
		if sleep.For(ctx, 500*time.Millisecond) != nil {
			return err
		}
	}
}

func (m *Member) connectOnce(ctx context.Context) (err error) {
	logs := m.o.logs()
	logs.Logger = m.o.Logger
	if m.logs, err = jetstream.Connect(logs); err != nil {
		return err
	}
	bucket := m.o.bucket()
	bucket.Logger = m.o.Logger
	if cluster, _, err := m.folder.Known(); err != nil {
		return err
	} else if bucket.MustExist = cluster != ""; !bucket.MustExist {
		bucket.Beside = m.o.stream(0)
		// One that was in the cluster may follow the logs, however the servers sync.
		if err := m.logs.CheckConnected(ctx); err != nil {
			return fmt.Errorf("%w. Or accept the risk: --cluster-accept unsynced", err)
		}
	}
	if m.bucket, err = natskv.Connect(ctx, bucket); err == nil {
		err = isThere(ctx, m.bucket)
	}
	if errors.Is(err, natskv.ErrNoBucket) {
		return fmt.Errorf("%w: %w", coord.ErrMapLost, err)
	}
	if err != nil {
		return err
	}
	if m.o.Token == "" && m.o.PeerTLS == nil {
		m.o.Token, err = sharedToken(ctx, m.bucket)
	}
	return err
}

// A besides is a bucket that knows of a stream that there is if there is a cluster.
type besides interface {
	coord.Store
	Beside(ctx context.Context) (bool, error)
}

// isThere returns an error if there is a cluster, and no map of it: who was in no cluster yet must
// not take that for none.
func isThere(ctx context.Context, s besides) error {
	lost, err := s.Beside(ctx)
	if err != nil || !lost {
		return err
	}
	v, err := coord.NewWatcher(s, coord.Times{}, time.Now).Look(ctx)
	if err == nil && !v.HasMap() {
		err = natskv.ErrNoBucket
	}
	return err
}

// disconnect ends the connections to the servers.
func (m *Member) disconnect() (err error) {
	if m.bucket != nil {
		err = m.bucket.Close()
	}
	if m.logs != nil {
		m.logs.Close()
	}
	m.bucket, m.logs = nil, nil
	return err
}

// startNode opens the folder of the replicas and starts the node.
func (m *Member) startNode(fail context.CancelCauseFunc) (err error) {
	o := &m.o
	var disk fullness
	m.node, err = node.New(node.Options{
		Name: o.Node, Address: m.address(), Version: o.Version, Zone: o.Zone,
		Store: m.bucket, Disk: m.folder, Peers: m.peers, Moves: 4, DiskFull: disk.String, Logger: o.Logger,
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	if o.DiskSpace != nil {
		m.keeping.Go(func() { disk.watch(ctx, o.DiskSpace) })
	}
	go func() {
		defer close(m.ended)
		if m.err = m.node.Run(ctx); m.err != nil {
			fail(m.err)
		}
	}()
	return nil
}

// storeOptions returns the options of each partition of the map: a node may have all of them. The
// router keeps MaxSeries, which is of all together.
func (m *Member) storeOptions() core.Options {
	s := m.o.Store
	s.Memory = max(s.Memory/int64(max(m.node.Partitions(), 1)), 32<<20)
	s.Logger = m.o.Logger
	return s
}

// lingerOf returns how long samples wait for more before a message with them is sent, if a cluster
// has n partitions. A message costs the servers about a millisecond of CPU time, whatever its size:
// all partitions together send 400 a second at most while messages are small. With 8 partitions and
// more it is 20 ms.
func lingerOf(n int) time.Duration {
	return min(max(time.Duration(n)*time.Second/400, 5*time.Millisecond), 20*time.Millisecond)
}

func (m *Member) openLog(partition int, after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	o := stream.Options{After: after, OnDurable: onDurable, Logger: m.o.Logger.With("partition", partition), Linger: lingerOf(m.node.Partitions())}
	var err error
	if o.ID, o.Anew, err = m.node.Log(partition, after); err != nil {
		return nil, err
	}
	if r, ok := m.readers.Load(partition); ok && o.ID == (wal.ID{}) {
		// The log that the replica has followed.
		o.ID = r.(*stream.Reader).ID()
	}
	if o.Anew {
		m.o.Logger.Error("the log of a partition has lost records, and is begun anew behind those that the replica here holds: what no replica held is lost",
			"partition", partition, "position", uint64(after))
	}
	return m.logs.Open(ctx, m.o.stream(partition), o)
}

func (m *Member) follow(partition int, _ wal.Pos) (core.Source, error) {
	ctx, cancel := context.WithTimeout(context.Background(), openTime)
	defer cancel()
	r, err := m.logs.OpenReader(ctx, m.o.stream(partition), stream.ReaderOptions{Logger: m.o.Logger.With("partition", partition)})
	if err != nil {
		return nil, err
	}
	m.readers.Store(partition, r)
	return r, nil
}

// checkAdmitted returns an error if nodes that live refuse this one, and none takes its calls. If
// some do the others may be wrong: the log names them.
func (m *Member) checkAdmitted(ctx context.Context, s coord.Store) error {
	for {
		taken, refused, err := m.peers.admitted(ctx, s, coord.Member{Name: m.o.Node, Address: m.address()})
		switch {
		case err == nil && taken:
			for _, r := range refused {
				m.o.Logger.Error("a node of the cluster and this one cannot talk to each other", "node", r.Name, "err", r)
			}
			return nil
		case err == nil:
			return refusedBy(refused)
		}
		m.o.Logger.Warn("the other nodes cannot be seen yet; this one asks again", "err", err)
		if sleep.For(ctx, 500*time.Millisecond) != nil {
			return err
		}
	}
}

// servePeers answers the other nodes.
func (m *Member) servePeers(fail context.CancelCauseFunc) error {
	s := &peer.Server{
		Partition: m.partition, Leads: m.node.Leads,
		Token: m.o.Token, Certificates: m.o.PeerTLS != nil, Expressions: m.o.Expressions,
	}
	path, h, err := s.Handler()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle(path, h)
	m.http = &http.Server{
		Handler: mux, TLSConfig: m.o.PeerTLS.Clone(), Protocols: new(http.Protocols), ReadHeaderTimeout: 10 * time.Second,
		// Nodes that look whether this process has ended connect, and say nothing.
		ErrorLog: slog.NewLogLogger(m.o.Logger.Handler(), slog.LevelDebug),
	}
	m.http.Protocols.SetHTTP2(m.o.PeerTLS != nil)
	m.http.Protocols.SetUnencryptedHTTP2(m.o.PeerTLS == nil)
	go func() {
		serve := m.http.Serve
		if m.o.PeerTLS != nil {
			serve = func(l net.Listener) error { return m.http.ServeTLS(l, "", "") }
		}
		if err := serve(m.listen); !errors.Is(err, http.ErrServerClosed) {
			fail(fmt.Errorf("--cluster-listen %s: %w", m.o.Listen, err))
		}
	}()
	return nil
}

// partition returns a replica of this node to another node.
func (m *Member) partition(p int) (core.Engine, error) {
	if r, ok := m.node.Local(p); ok {
		return r.Engine(), nil
	}
	return nil, fmt.Errorf("node %s has no replica of partition %d: %w", m.o.Node, p, core.ErrUnavailable)
}

// address is where the other nodes reach this one.
func (m *Member) address() string {
	if m.o.Advertise != "" {
		return m.o.Advertise
	}
	at := m.listen.Addr().(*net.TCPAddr)
	if !at.IP.IsUnspecified() {
		return at.String()
	}
	host, err := os.Hostname()
	if err != nil {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(at.Port))
}

// Engine returns all partitions as one engine.
func (m *Member) Engine() core.Engine { return m.router }

// Node returns what runs the partitions.
func (m *Member) Node() *node.Node { return m.node }

// Bucket returns what the nodes announce. Close closes it.
func (m *Member) Bucket() coord.Store { return m.bucket }

// Address returns where the other nodes reach this one.
func (m *Member) Address() string { return m.address() }

// Close hands the leases of this node on, closes the replicas and ends all connections. Nobody uses
// the engine any more.
func (m *Member) Close() (err error) {
	m.closed.Do(func() {
		if m.detour != nil {
			m.detour.Stop()
		}
		m.stop()
		if m.node != nil {
			<-m.ended
			err = m.err
		}
		if m.http != nil {
			err = errors.Join(err, m.http.Close())
		} else if m.listen != nil {
			err = errors.Join(err, m.listen.Close())
		}
		if m.peers != nil {
			m.peers.close()
		}
		if m.detour != nil { // its last calls have ended with the engines
			err = errors.Join(err, m.detour.Close())
		}
		m.surveyor.close()
		m.keeping.Wait()
		err = errors.Join(err, m.disconnect())
	})
	return err
}

// Nodes without certificates know each other by a token. Where none is given, the cluster keeps one
// in its bucket, which the first node draws at random.

const keyToken = "token" // of the bucket

// sharedToken returns the token that the cluster keeps, and draws the first one.
func sharedToken(ctx context.Context, s coord.Store) (string, error) {
	for {
		token, err := keptToken(ctx, s)
		if err != nil || token != "" {
			return token, err
		}
		_, err = s.CompareAndSet(ctx, keyToken, []byte(rand.Text()+rand.Text()), 0)
		if err != nil && !errors.Is(err, coord.ErrConflict) {
			return "", fmt.Errorf("token of the cluster: %w", err)
		}
	}
}

// keptToken returns the token that the cluster keeps; empty: it keeps none.
func keptToken(ctx context.Context, s coord.Store) (string, error) {
	e, err := s.Get(ctx, keyToken)
	if err != nil {
		return "", fmt.Errorf("token of the cluster: %w", err)
	}
	return string(e.Value), nil
}
