package graphite

import (
	"github.com/rondo-db/rondo/internal/limit"
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
	part    int                    // of a name, which is its host
	queue   *receivers.SharedQueue // of all connections and datagrams
	logs    loglimit.Limit[string]
	held    *limit.Limit // bytes of the buffers of pickles

	// Only functions that the queue's Do runs use these.
	cache      *cache
	generation uint64 // of the references
}

func newServer(cfg receivers.Config, set settings, sink receivers.Sink) *server {
	return &server{
		cfg: cfg, sink: sink, asks: receivers.NewResolver(sink, cfg, prefix), schemas: set.schemas, part: set.host,
		cache: newCache(cacheEntries), held: limit.New(heldMost, heldShare),
	}
}

// heldMost is how many bytes the buffers of all connections may take beyond lastBuffer each, and
// heldShare how many one client's may take.
const (
	heldMost  = 256 << 20
	heldShare = heldMost / 4 * 3
)
