package graphite

import (
	"net"
	"sync/atomic"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
)

// A server is the receiver of one of the protocols.
type server struct {
	receivers.Counters
	cfg     receivers.Config
	sink    receivers.Sink
	asks    *receivers.Resolver
	schemas *Schemas
	socket  socket
	queue   *receivers.SharedQueue // of all connections and datagrams
	logs    loglimit.Limit[string]
	held    budget

	// Only functions that the queue's Do runs use these.
	cache      *cache
	generation uint64 // of the references
}

// A socket is what a server listens with.
type socket interface {
	Addr() net.Addr
	Close() error
}

func newServer(cfg receivers.Config, set settings, sink receivers.Sink) *server {
	return &server{cfg: cfg, sink: sink, asks: receivers.NewResolver(sink, cfg, prefix), schemas: set.schemas, cache: newCache(cacheEntries)}
}

// Addr is where it listens.
func (s *server) Addr() net.Addr { return s.socket.Addr() }

// Close closes the sockets.
func (s *server) Close() error { return s.socket.Close() }

// A budget counts memory that connections share.
type budget struct{ held atomic.Int64 }

// add counts n more bytes, and reports whether that is within the limit.
func (b *budget) add(n int) bool { return b.held.Add(int64(n)) <= heldMost }

// heldMost is how many bytes the buffers of all connections may take beyond lastBuffer each.
const heldMost = 256 << 20
