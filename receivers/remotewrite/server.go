package remotewrite

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/receivers"
)

// A server is the receiver.
type server struct {
	receivers.Counters
	*receivers.Requests
	cfg   receivers.Config
	set   settings
	sink  receivers.Sink
	asks  *receivers.Resolver
	works sync.Pool // of *work
	log   loglimit.Limit[string]

	// order is held while the samples of a request are checked and handed to the sink, so that
	// the sink gets them in the order in which they were checked. It guards what follows, and is
	// a channel so that a request does not wait for ever.
	order      chan struct{}
	table      *table
	generation uint64
	families   families
	flight     uint16 // of the last request

	bodies bodies // guarded by order

	flights flights
	seed    maphash.Seed
}

// bodies are hashes of the bodies of the requests that flights counts, by their numbers. So a
// request is known that is sent again, because its answer was lost; 0: not all of it was stored.
type bodies [len(flights{})]uint64

func (b *bodies) of(number uint16) *uint64 { return &b[int(number)%len(b)] }

// flights counts the requests whose samples were handed to the store and have no outcome yet.
// Requests have one of 4,096 numbers in turn. Two may have the same: then a request counts as on
// its way for longer than it is.
type flights [1 << 12]atomic.Int32

func (f *flights) of(number uint16) *atomic.Int32 { return &f[int(number)%len(f)] }

func newServer(cfg receivers.Config, sink receivers.Sink) (*server, error) {
	cfg = cfg.WithDefaults()
	set, err := configure(cfg)
	if err != nil {
		return nil, err
	}
	s := &server{cfg: cfg, set: set, sink: sink, asks: receivers.NewResolver(sink, cfg, "remotewrite"), order: make(chan struct{}, 1), table: newTable(maxKeys), seed: maphash.MakeSeed()}
	s.Requests = receivers.NewRequests(sink, &s.Counters, cfg)
	s.works.New = func() any { return new(work) }
	return s, nil
}

func (s *server) Stats() receivers.Stats { return s.Counters.Stats() }

// enter takes order. It returns false if it cannot within Config.Patience.
func (s *server) enter() bool {
	select {
	case s.order <- struct{}{}:
		return true
	default:
	}
	t := time.NewTimer(s.cfg.Patience)
	defer t.Stop()
	select {
	case s.order <- struct{}{}:
		return true
	case <-t.C:
		return false
	}
}

func (s *server) leave() { <-s.order }
