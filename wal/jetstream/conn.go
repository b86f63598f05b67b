package jetstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/internal/natsconn"
	"github.com/rondo-db/rondo/wal/stream"
)

const (
	// attemptTime bounds one question about a stream.
	attemptTime = 2 * time.Second
	// checkedTime is how long what servers said of how they sync is believed.
	checkedTime = time.Minute
	// failedTime is how long a server that could not be reached is not tried again.
	failedTime = time.Second
	// checkTime bounds how long CheckConnected takes.
	checkTime = time.Second
	// missedTime is how often the log names a server that does not say how it syncs.
	missedTime = 10 * time.Minute
)

// Conn is a connection to servers. Many streams may share it. Its methods may be called
// concurrently.
type Conn struct {
	o    Options
	main *peer
	js   jetstream.JetStream
	hop  natsconn.Hop

	mu      sync.Mutex           // guards what follows; held while a single server is connected to
	others  map[string]*peer     // connections to single servers, by URL
	failed  map[string]failure   // servers that could not be reached, by URL
	checked map[string]time.Time // when a server was last seen to sync, by name
	missed  map[string]time.Time // when it was last logged that a server is not there, by the words
	closed  bool
}

// A failure is an attempt to connect that failed.
type failure struct {
	at  time.Time
	err error
}

// Connect connects to the servers that o names. It does not use the fields Stream and Log.
func Connect(o Options) (*Conn, error) {
	nc, err := natsconn.Connect(o.URL, o.Logger, o.Connect...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", natsconn.Redacted(o.URL), err)
	}
	c := &Conn{o: o, others: make(map[string]*peer), failed: make(map[string]failure), checked: make(map[string]time.Time), missed: make(map[string]time.Time)}
	// The server's version comes before questions that an old server may not know.
	if err = checkVersion(nc.ConnectedServerName(), nc.ConnectedServerVersion()); err == nil {
		c.js, err = jetstream.New(nc)
	}
	if err == nil {
		c.main, err = newPeer(nc)
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

// stream finds a stream, makes it if it is missing, and checks the settings. The only subject of a
// stream is "rondo.log." and its name. How the servers sync matters to writers alone: a follower
// that asked could stand still because monitoring ports do not answer.
func (c *Conn) stream(ctx context.Context, name string, writes bool) (*Server, error) {
	st, err := c.find(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if c.o.MaxBytes <= 0 {
			return nil, fmt.Errorf("make stream %s: its size is not set", name)
		}
		st, err = c.js.CreateStream(ctx, configOf(name, c.o))
		if hasNoRoom(err) {
			err = fmt.Errorf("too few servers have room for a log of %d bytes: free disk, raise max_file of jetstream, or take smaller logs: %w", c.o.MaxBytes, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", name, err)
	}
	info := st.CachedInfo()
	s := &Server{
		conn: c, jsStream: st, stream: name, subject: subjectOf(name),
		most: min(int(c.main.nc.MaxPayload())-headerBytes, messageBytes),
	}
	if n := int(info.Config.MaxMsgSize); n > 0 {
		s.most = min(s.most, n-headerBytes)
	}
	err = checkStream(info.Config, c.o)
	if writes {
		err = errors.Join(err, c.checkServers(ctx, serversOf(c.main.nc, info)))
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// find asks for a stream, and asks again while there is no answer: nobody answers while the stream
// has no leader. It gives up when ctx ends, or after answerTime if ctx has no deadline.
func (c *Conn) find(ctx context.Context, name string) (jetstream.Stream, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, answerTime)
		defer cancel()
	}
	for {
		try, cancel := context.WithTimeout(ctx, attemptTime)
		st, err := c.js.Stream(try, name)
		silent := try.Err() != nil
		cancel()
		answered := err == nil || errors.Is(err, jetstream.ErrStreamNotFound)
		c.hop.Heard(c.main.nc, answered)
		if answered {
			return st, err
		}
		if !silent || ctx.Err() != nil {
			return nil, err
		}
	}
}

// The codes of nats-server for a stream that is larger than what is free, and for one that no
// server, or too few, can take.
const (
	codeNoPeers     = 10005
	codeNoResources = 10023
	codeNoStorage   = 10047
)

// hasNoRoom reports whether a stream was not made because the servers have no room for it.
func hasNoRoom(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (e.ErrorCode == codeNoPeers || e.ErrorCode == codeNoResources || e.ErrorCode == codeNoStorage)
}

// checkServers asks the servers how they sync, unless they said so a moment ago.
func (c *Conn) checkServers(ctx context.Context, names []string) error {
	fresh := func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, name := range names {
			if time.Since(c.checked[name]) > checkedTime {
				return false
			}
		}
		return true
	}
	if fresh() {
		return nil
	}
	absent, err := checkServers(ctx, names, c.o)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, err := range absent {
		if what := err.Error(); c.o.Logger != nil && time.Since(c.missed[what]) > missedTime {
			c.missed[what] = time.Now()
			c.o.Logger.Warn("a server of NATS is missing; the others go on without it", "error", err)
		}
	}
	for _, name := range names {
		c.checked[name] = time.Now()
	}
	return nil
}

// CheckConnected returns an error if the server that is connected to says that it acknowledges
// before it syncs. No answer is no error: whoever opens a log for writing asks again.
func (c *Conn) CheckConnected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return checkConnected(ctx, c.main.nc.ConnectedServerName(), c.o)
}

// Open becomes the writer of a stream. Closing the log leaves the connection open.
func (c *Conn) Open(ctx context.Context, name string, o stream.Options) (*stream.Log, error) {
	s, err := c.stream(ctx, name, true)
	if err != nil {
		return nil, err
	}
	l, err := stream.Open(ctx, s, o)
	if err != nil {
		return nil, fmt.Errorf("open stream %s: %w", name, err)
	}
	return l, nil
}

// OpenReader opens a stream for reading, and makes it if it is missing. The servers are not asked
// how they sync. Closing the reader leaves the connection open.
func (c *Conn) OpenReader(ctx context.Context, name string, o stream.ReaderOptions) (*stream.Reader, error) {
	s, err := c.stream(ctx, name, false)
	if err != nil {
		return nil, err
	}
	r, err := stream.OpenReader(ctx, s, o)
	if err != nil {
		return nil, fmt.Errorf("read stream %s: %w", name, err)
	}
	return r, nil
}

// replica returns the connection for a replica: the usual one, or one to another server.
func (c *Conn) replica(n int) (*peer, error) {
	if n == 0 {
		return c.main, nil
	}
	urls := c.otherURLs()
	if n > len(urls) {
		return nil, stream.ErrNoReplica
	}
	u := urls[n-1]
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.others[u]; p != nil && p.nc.IsConnected() {
		return p, nil
	}
	if c.closed {
		return nil, nats.ErrConnectionClosed // nobody would close it
	}
	if f, ok := c.failed[u]; ok && time.Since(f.at) < failedTime {
		return nil, f.err
	}
	options := []nats.Option{nats.NoReconnect(), nats.IgnoreDiscoveredServers(), nats.Timeout(time.Second)}
	nc, err := natsconn.Connect(u, c.o.Logger, append(options, c.o.Connect...)...)
	var p *peer
	if err == nil {
		if p, err = newPeer(nc); err != nil {
			nc.Close()
		}
	}
	if err != nil {
		err = fmt.Errorf("connect to %s: %w", u, err)
		c.failed[u] = failure{time.Now(), err}
		return nil, err
	}
	delete(c.failed, u)
	c.others[u] = p
	return p, nil
}

// otherURLs returns the servers that the connection is not with.
func (c *Conn) otherURLs() (urls []string) {
	for _, u := range c.main.nc.Servers() {
		if u != c.main.nc.ConnectedUrl() {
			urls = append(urls, u)
		}
	}
	return urls
}

// nameOf names the server that stands for a replica.
func (c *Conn) nameOf(n int) string {
	if n == 0 {
		return c.main.nc.ConnectedServerName()
	}
	urls := c.otherURLs()
	if n > len(urls) {
		return fmt.Sprint("replica ", n)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.others[urls[n-1]]; p != nil {
		return p.nc.ConnectedServerName()
	}
	return urls[n-1]
}

// Close ends the connection, and with it all that use it.
func (c *Conn) Close() {
	c.mu.Lock()
	c.closed = true
	for _, p := range c.others {
		p.nc.Close()
	}
	c.mu.Unlock()
	c.main.nc.Close()
}

// duplicateWindow is how long a stream remembers the ids of messages.
const duplicateWindow = 2 * time.Minute

// Options say where streams are, and what they must keep.
type Options struct {
	// URL names the servers, separated by commas: nats://HOST:PORT.
	URL string
	// Connect are more options of the connection: credentials, TLS.
	Connect []nats.Option

	// MaxBytes is the size of a stream that Open makes. A full stream refuses records until it is
	// truncated.
	MaxBytes int64
	// Monitor are the addresses of the monitoring ports of all servers, http://HOST:PORT. Open asks
	// them whether the servers sync what they acknowledge. More than half of those that keep the
	// stream must answer. OpenReader does not ask.
	Monitor []string
	// Logger gets a line for each missing server; nil: it is not logged.
	Logger *slog.Logger

	// AcceptUnsynced accepts servers that do not sync each message, or that Monitor does not name.
	// A power cut of all servers may then lose the whole stream, and with it what was acknowledged.
	AcceptUnsynced bool
	// AcceptFewerReplicas accepts a stream on one server, and makes such a stream. The loss of that
	// server's disk loses the stream. It is for tests.
	AcceptFewerReplicas bool
}

// subjectOf returns the subject of a stream's messages.
func subjectOf(stream string) string { return "rondo.log." + stream }

// configOf returns the settings of a stream that keeps a log.
func configOf(name string, o Options) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: name, Subjects: []string{subjectOf(name)}, Description: "a log of rondo",
		Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxBytes: o.MaxBytes, Replicas: 3, AllowDirect: true, DenyDelete: true, Duplicates: duplicateWindow,
	}
	if o.AcceptFewerReplicas {
		c.Replicas = 1
	}
	return c
}
