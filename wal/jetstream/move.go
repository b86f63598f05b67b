package jetstream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/rondo-db/rondo/wal/stream"
)

// A connection may be with a server that is of no use: the server is cut off from the others, or
// hangs. The client stays with it. So whenever a question about a stream has failed, the servers
// are compared in the background: if another one knows the stream, and this one does not, the
// connection goes to the next server. While the stream has no leader nobody knows it, and the
// connection stays where it is.

const (
	// attemptTime bounds one question about a stream.
	attemptTime = 2 * time.Second
	// doubtAgain is the time between two comparisons of the servers.
	doubtAgain = 5 * time.Second
)

// A mover lets a connection go to another server.
type mover struct {
	main   *nats.Conn
	other  func(n int) (*nats.Conn, error) // another server; stream.ErrNoReplica: there are fewer
	logger *slog.Logger                    // or nil
	ctx    context.Context                 // ends with the connection
	end    context.CancelFunc
	checks sync.WaitGroup

	mu      sync.Mutex // guards what follows; taken alone
	running bool       // the servers are being compared
	last    time.Time  // when they were compared last
}

func newMover(main *nats.Conn, other func(n int) (*nats.Conn, error), logger *slog.Logger) *mover {
	m := &mover{main: main, other: other, logger: logger}
	m.ctx, m.end = context.WithCancel(context.Background())
	return m
}

// close ends a comparison. No other one begins.
func (m *mover) close() {
	m.mu.Lock()
	m.end()
	m.mu.Unlock()
	m.checks.Wait()
}

// doubt compares the servers in the background, unless that was done a moment ago. It is called
// when a question about a stream has failed, and does not wait.
func (m *mover) doubt(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running || m.ctx.Err() != nil || time.Since(m.last) < doubtAgain {
		return
	}
	m.running = true
	m.checks.Go(func() {
		m.compare(name)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.running, m.last = false, time.Now()
	})
}

// compare lets the connection go to the next server if another server knows a stream, and the one
// that the connection is with does not.
func (m *mover) compare(name string) {
	was, server := m.main.ConnectedUrl(), m.main.ConnectedServerName()
	if was == "" || known(m.ctx, m.main, name) { // without a server it looks for one already
		return
	}
	for n := 1; ; n++ {
		other, err := m.other(n)
		if errors.Is(err, stream.ErrNoReplica) || m.ctx.Err() != nil {
			return
		}
		if err != nil || !known(m.ctx, other, name) {
			continue
		}
		if m.main.ConnectedUrl() == was {
			if m.logger != nil {
				m.logger.Warn("a server of NATS does not tell of a stream, and another one does: the connection goes to another server",
					"server", server, "other", other.ConnectedServerName(), "stream", name)
			}
			_ = m.main.ForceReconnect() // an error says that the connection is closed
		}
		return
	}
}

// known reports whether somebody whom a server reaches knows how a stream is, or that it does not
// exist.
func known(ctx context.Context, nc *nats.Conn, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	js, err := jetstream.New(nc)
	if err != nil {
		return false
	}
	st, err := js.Stream(ctx, name)
	if err != nil {
		return errors.Is(err, jetstream.ErrStreamNotFound)
	}
	cluster := st.CachedInfo().Cluster
	return cluster == nil || cluster.Leader != ""
}
