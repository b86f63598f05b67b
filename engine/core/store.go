package core

import (
	"context"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/wal"
)

// A Store is an open database folder. Its methods may be called concurrently.
type Store struct {
	dir       string
	options   Options
	lock      io.Closer
	db        *boltfile.File
	log       Log
	holds     wal.Mark // how far the log reaches at least, as the database said when it was opened
	space     groupSpace
	admission admission
	shards    []*shard
	running   sync.WaitGroup // shards

	catalogue catalogue
	notes     notes
	metadata  metadata

	calls    calls
	appender appender
	// fetchers are used again, so that a fetch allocates little but its answer.
	fetchers sync.Pool

	buffersMu         sync.Mutex // guards what follows
	stateBuffers      [][]byte
	stateBuffersBytes int // of their capacities

	checkpointMu sync.Mutex // one checkpoint at a time; guards what follows
	blockBuffer  []byte
	pins         int     // backups under way
	pinned       wal.Pos // what they still need of the log lies above it

	stop       context.CancelFunc
	background sync.WaitGroup

	replayErr atomic.Pointer[error]
	madeAnew  bool // Open has made the database
	damage    damage.Seen
	hook      func(string) // failpoints; nil but in tests
	counters
}

// newStore returns a store that has opened neither folder nor files.
func newStore(dir string, o Options) *Store {
	s := &Store{dir: dir, options: o.withDefaults(), hook: o.hook}
	s.admission.init(&s.space, &s.options)
	s.damage.Logger = s.options.Logger
	s.calls.init()
	s.appender.init(s)
	s.fetchers.New = func() any { return &fetcher{key: make([]byte, 0, rowblock.KeyRoom)} }
	return s
}

// enter begins a call, leave ends it. The error is ErrClosed.
func (s *Store) enter() error { return s.calls.enter() }

func (s *Store) leave() { s.calls.leave() }

// enterWrite is enter for a call that changes something.
func (s *Store) enterWrite() error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.options.ReadOnly {
		s.leave()
		return ErrReadOnly
	}
	return nil
}

// begin is enterWrite and then admit. If admit fails or panics (ctx may be nil), the call is not
// counted: Close would wait for it for ever.
func (s *Store) begin(ctx context.Context) (err error) {
	if err := s.enterWrite(); err != nil {
		return err
	}
	admitted := false
	defer func() {
		if !admitted {
			s.leave()
		}
	}()
	err = s.admit(ctx)
	admitted = err == nil
	return err
}
