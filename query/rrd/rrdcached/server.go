package rrdcached

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/rra"
)

// The limits of a server if Options does not set them.
const (
	DefaultConns     = 1024
	DefaultIdle      = time.Hour
	DefaultWriteTime = 30 * time.Second
)

const (
	largeConns = 32              // connections that may have large buffers
	lastTime   = time.Second     // time to write answers when the server ends or another has the place
	graceTime  = 5 * time.Second // time for the engine to accept the last samples
	cacheSpare = 10_000          // aliases remembered beyond two for each series
)

// Options are the store that a server serves, and its limits.
type Options struct {
	Store core.Engine
	// Base is the folder that is cut off the front of absolute names. Names outside it are refused.
	// Empty means the working folder.
	Base string
	// Make creates the series that UPDATE commands name and the store lacks, those that it may
	// create. It returns an error for each series that it has not created. An error that wraps
	// core.ErrNotFound is reported in rrdcached's words for a missing file. If Make is nil, no
	// series is created.
	Make func(ctx context.Context, missing []Missing) []error
	// Adopt imports a native file below Base as a series when a client names it and no series has
	// its name.
	Adopt bool
	// Own is the folder of the server's own series, which LIST of the top leaves out. Empty means
	// that the server has none.
	Own string
	// Held says that the store has a reorder window, which holds samples back until FLUSH releases
	// them.
	Held bool
	// Conns bounds the connections at all unix sockets together, and likewise those over TCP; 0
	// means DefaultConns.
	Conns int
	// HostConns bounds the TCP connections of one IPv4 address or one 64-bit network of IPv6; 0
	// means DefaultHostConns of Conns.
	HostConns int
	// Idle is how long a peer may be silent; 0 means DefaultIdle, a negative time means for ever.
	// While all places are taken, a peer that has been silent for a minute loses its place to a new
	// one.
	Idle time.Duration
	// WriteTime is how long a peer may take to read its answers, in addition to a second for each
	// 64 KiB; 0 means DefaultWriteTime.
	WriteTime time.Duration
	// Answers bounds the bytes of rows in memory for answers that wait to be read; 0 means
	// DefaultAnswers.
	Answers int64
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger receives events that an operator can act on; nil means no log.
	Logger *slog.Logger
}

// DefaultHostConns returns the default of Options.HostConns, which is half of conns.
func DefaultHostConns(conns int) int { return (conns + 1) / 2 }

// A Missing is a series that an UPDATE names and the store lacks.
type Missing struct {
	Path   string
	Values int      // number of values in a sample
	Time   rra.Time // time of the first sample
	Peer   string   // the sender: an address without port, or "unix"
}

// A Server answers requests over a store. Its methods may be called concurrently. No goroutine
// holds two of its locks at once.
type Server struct {
	o      Options
	names  names
	cache  *cache
	stats  counters
	life   context.Context // ends the calls of the engine
	end    context.CancelFunc
	small  buffers
	big    buffers
	large  chan struct{} // holds an element for each connection with a large buffer
	bursts sync.Pool
	errors atomic.Int64 // bytes of the errors of all BATCHes
	// adopting is held while native files are imported, because memory is bounded for one import.
	adopting sync.Mutex
	turns    *limit.Limit  // of verbs that hold a whole series
	letGo    sync.Mutex    // held while all held samples are released; guards passErr
	passes   atomic.Uint64 // how many times that has begun
	passErr  error         // result of the last time
	foreign  loglimit.Limit[struct{}]

	places  *sockets.Places
	answers answers
}

// New returns a server. It fails if the base folder has no absolute path.
func New(o Options) (*Server, error) {
	if o.Conns <= 0 {
		o.Conns = DefaultConns
	}
	if o.HostConns <= 0 {
		o.HostConns = DefaultHostConns(o.Conns)
	}
	if o.Answers <= 0 {
		o.Answers = DefaultAnswers
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.WriteTime <= 0 {
		o.WriteTime = DefaultWriteTime
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		o: o, large: make(chan struct{}, largeConns), turns: limit.New(maxTurns, maxTurns), answers: newAnswers(o.Answers),
		places: sockets.NewPlaces(o.Conns, o.HostConns, 0),
	}
	s.small.size, s.big.size = smallBuffer, largeBuffer
	s.cache = newCache(func() int { return int(2*s.o.Store.Stats().Series) + cacheSpare })
	s.life, s.end = context.WithCancel(context.Background())
	var err error
	s.names, err = newNames(o.Base)
	return s, err
}

// Close cancels the calls of the engine that connections have left behind. Call it after Serve has
// returned.
func (s *Server) Close() {
	s.end()
}

func (s *Server) burst() *burst {
	g, ok := s.bursts.Get().(*burst)
	if !ok {
		g = new(burst)
	}
	g.reset()
	return g
}

func (s *Server) putBurst(g *burst) {
	g.reset() // a pooled burst keeps no names and answers alive
	s.bursts.Put(g)
}

// counters are the counters behind Stats.
type counters struct {
	accepted, refused, stalled, foreign, unknown, samples, bytes atomic.Uint64
	requests, errors                                             [numCommands]atomic.Uint64
}

// Stats is a snapshot of a server's counters.
type Stats struct {
	Connections int    // open connections
	Accepted    uint64 // connections that were accepted
	Refused     uint64 // connections that were refused because there were too many
	Stalled     uint64 // connections that were closed because the peer did not read its answers
	Foreign     uint64 // connections that were closed because they spoke HTTP or TLS
	Bytes       uint64 // bytes of requests
	Answers     int64  // bytes of rows in memory for answers that wait to be read
	Samples     uint64 // samples that were given to the store
	Unknown     uint64 // requests with an unknown command
	Names       int    // remembered names of series
	// Requests and Errors count by command, in the order of CommandNames.
	Requests, Errors []uint64
}

// CommandNames returns the names of all commands, in the order of Stats.Requests.
func CommandNames() []string {
	names := make([]string, 0, numCommands)
	for i := range commands {
		names = append(names, commands[i].name)
	}
	return names
}

// The sizes of a connection's buffer for requests.
const (
	smallBuffer = 16 << 10  // holds more than one request of MaxLine
	largeBuffer = 256 << 10 // for a few of the connections that have filled the small one
)

type buffers struct {
	size int
	pool sync.Pool
}

func (b *buffers) get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, b.size)
}

func (b *buffers) put(p []byte) { b.pool.Put(&p) }
