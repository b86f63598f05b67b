package rrdcached

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rrd/rrdcached/wire"
	"github.com/rondo-db/rondo/rra"
)

// The limits of a server where Options gives none.
const (
	DefaultConns     = 1024
	DefaultIdle      = time.Hour
	DefaultWriteTime = 30 * time.Second
)

const (
	largeConns = 32              // connections that may have large buffers
	lastTime   = time.Second     // how long answers may take once the server ends
	graceTime  = 5 * time.Second // and how long the engine has then to take samples
	cacheSpare = 10_000          // names remembered beyond two of each series
)

// Options says what a server serves, and how much of it.
type Options struct {
	Store *core.Store
	// Base is the folder that is cut off the front of absolute names, and that names may not leave;
	// empty: the working folder.
	Base string
	// Make is given the series that UPDATE commands name and the store lacks, and makes those that
	// it may. Its result has an error for each it did not make; one that wraps core.ErrNotFound is
	// told as rrdcached tells of a missing file. nil: none is made.
	Make func(ctx context.Context, missing []Missing) []error
	// Adopt has a native file below Base become a series when a client names it and there is no
	// series of its name.
	Adopt bool
	// Own is a folder of series that are the server's own, and not its clients': LIST of the top
	// leaves it out. Empty: there is none.
	Own string
	// Held says that the store's reorder window holds samples back, so that FLUSH has to let them
	// go.
	Held bool
	// Conns is how many connections there may be at unix sockets together, and as many over TCP; 0:
	// DefaultConns.
	Conns int
	// HostConns is how many of those over TCP one address may have, or of IPv6 one network of 64
	// bits; 0: DefaultHostConns of Conns.
	HostConns int
	// Idle is how long a peer may be silent; 0: DefaultIdle, negative: for ever. Where all places
	// are taken a minute is enough for the peer to lose its place to a new one.
	Idle time.Duration
	// WriteTime is how long a peer may take to read what it is sent, beyond a second for each 64
	// KiB; 0: DefaultWriteTime.
	WriteTime time.Duration
	// Answers is how many bytes of rows may be in memory for answers that wait to be read; 0:
	// DefaultAnswers.
	Answers int64
	// Now is the present; nil: time.Now.
	Now func() time.Time
	// Logger takes what an operator can act on; nil: silent.
	Logger *slog.Logger
}

// DefaultHostConns returns how many of conns connections over TCP one client may have where nobody
// says: half of them.
func DefaultHostConns(conns int) int { return (conns + 1) / 2 }

// A Missing is a series that an UPDATE names and the store lacks.
type Missing struct {
	Path   string
	Values int      // of a sample
	Time   rra.Time // of the first sample
	Peer   string   // who sends it: the address without port, or "unix"
}

// A Server answers requests over a store. Its methods may be called concurrently.
type Server struct {
	o      Options
	names  names
	cache  *cache
	stats  counters
	life   context.Context // of what the engine is given
	end    context.CancelFunc
	small  buffers
	big    buffers
	large  chan struct{} // a place for each connection with a large buffer
	groups sync.Pool
	errors atomic.Int64 // bytes of errors of BATCHes
	// adopting is held while files are read.
	adopting sync.Mutex
	turns    turns
	letGo    sync.Mutex    // held by the one that lets all held samples go; guards passErr
	passes   atomic.Uint64 // how many have begun to do so
	passErr  error         // of the last that ended
	foreign  loglimit.Limit[struct{}]

	places *sockets.Places
	room   *room
}

// New returns a server. The error says what is wrong with the base folder.
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
		o: o, large: make(chan struct{}, largeConns), turns: newTurns(), room: newRoom(o.Answers),
		places: sockets.NewPlaces(o.Conns, o.HostConns, 0),
	}
	s.small.size, s.big.size = smallBuffer, largeBuffer
	s.cache = newCache(func() int { return int(2*s.o.Store.Stats().Series) + cacheSpare })
	s.life, s.end = context.WithCancel(context.Background())
	var err error
	s.names, err = newNames(o.Base)
	return s, err
}

// Close ends what the server has begun on behalf of connections. Serve must have returned.
func (s *Server) Close() {
	s.end()
}

func (s *Server) group() *group {
	g, ok := s.groups.Get().(*group)
	if !ok {
		g = new(group)
	}
	g.reset()
	return g
}

func (s *Server) putGroup(g *group) {
	g.reset() // it must not hold names and answers
	s.groups.Put(g)
}

// buffers are reused.
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

var errNoSeries = errors.New("names no series")

// lookup returns the entry of a name as it was written. The error wraps core.ErrNotFound if there
// is no such series.
func (s *Server) lookup(raw []byte) (*entry, error) { return s.lookupBy(raw, s.find) }

// lookupBy is lookup where find finds the series of a path.
func (s *Server) lookupBy(raw []byte, find func(path string) (core.Ref, error)) (*entry, error) {
	if e := s.cache.get(raw); e != nil {
		return e, nil
	}
	renames := s.o.Store.Renames()
	path, err := s.names.path(string(wire.Unescape(raw)))
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errNoSeries
	}
	for tries := 0; ; tries++ {
		ref, err := find(path)
		if err != nil {
			return nil, err
		}
		series, err := s.o.Store.Series(ref)
		switch {
		case err == nil:
			return s.cache.put(renames, raw, path, ref, series.Definition), nil
		case !errors.Is(err, core.ErrNotFound) || tries == maxAgain:
			return nil, err
		} // else another has taken its place meanwhile
	}
}

// noFile says in rrdcached's words why UPDATE did not find a series.
func (s *Server) noFile(name []byte, err error) string {
	file := s.names.file(string(name))
	switch {
	case errors.Is(err, errNoSeries):
		return "Not a regular file: " + file
	case errors.Is(err, errLeaves):
		return file + ": " + errLeaves.Error()
	case errors.Is(err, core.ErrNotFound):
		return "No such file: " + file
	}
	return err.Error()
}
