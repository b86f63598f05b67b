package gmetric

import (
	"net/netip"
	"time"

	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A server is the receiver. All of it but the counters belongs to the goroutine of Serve.
type server struct {
	receivers.Counters
	*sockets.UDP
	cfg   receivers.Config
	sink  receivers.Sink
	asks  *receivers.Resolver
	set   settings
	queue *receivers.Queue
	cache *cache
	news  receivers.Newcomers[uint32, newcomer]
	held  held
	texts texts
	names *names // nil: addresses are not resolved
	refs  int64  // entries of the cache that have a series

	now    time.Time     // when the datagrams at hand were read
	second uint32        // of now: see Resolver.Tick
	at     rra.Time      // now in whole seconds, like the times of gmetad's polls
	every  time.Duration // tickEvery
	ticked time.Time     // when tick ran last

	msg    Message // the datagram that is being read
	sender sender  // its sender
	sample [1]rra.Value
	digits []byte

	lines loglimit.Limit[string]
}

// A sender is the sender of the datagram that is being read.
type sender struct {
	addr netip.Addr
	text [64]byte // addr as text
	n    int      // bytes of text
}

// set makes addr the sender. It does nothing if it was the sender before, which it often was.
func (s *sender) set(addr netip.Addr) {
	if s.addr != addr || s.n == 0 {
		s.addr = addr
		s.n = len(addr.AppendTo(s.text[:0]))
	}
}

func (s *sender) host() []byte { return s.text[:s.n] }

// makeServer returns a server without a socket.
func makeServer(cfg receivers.Config, set settings, sink receivers.Sink) *server {
	s := &server{cfg: cfg, sink: sink, set: set, cache: newCache(cacheEntries), asks: receivers.NewResolver(sink, cfg, "gmetric"), every: tickEvery}
	s.texts.init()
	s.held = make(held)
	if set.resolve {
		s.names = newNames(&s.Counters)
	}
	return s
}

const (
	tickEvery = time.Second           // how often tick runs
	soon      = 20 * time.Millisecond // how often while names are looked up or much is to be stored
)

// forgetSeries forgets all references, because the store has refused one.
func (s *server) forgetSeries() {
	for i := range s.cache.Len() {
		s.cache.At(uint32(i)).Ref = 0
	}
	s.refs = 0
}

// restart empties the cache, which is full. It keeps only what cannot be read back from the store:
// values that are held, and metadata that is not stored yet.
func (s *server) restart() {
	values, described := s.held, s.texts.byEntry
	s.held = make(held)
	s.texts.init()
	s.refs = 0
	keep := s.cache.restart()
	for i, v := range values {
		s.held[keep(i)] = v
	}
	for i, d := range described {
		if d.listed {
			s.texts.restore(keep(i), d)
		}
	}
	for i := range s.cache.Len() {
		if s.cache.At(uint32(i)).Ref != 0 {
			s.refs++
		}
	}
}
