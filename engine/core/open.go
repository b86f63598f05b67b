package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/internal/record"
	"github.com/rondo-db/rondo/engine/internal/rowblock"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// The files of a store's folder.
const (
	fileDB   = "rondo.bolt"
	fileLock = "LOCK"
	dirLog   = "wal"
)

// The buckets of the database, and the keys of meta, are part of the format.
var (
	bucketMeta     = []byte("meta")
	bucketClasses  = []byte("classes")
	bucketDefs     = []byte("defs")
	bucketNames    = []byte("names")
	bucketSeries   = []byte("series")
	bucketLabels   = []byte("labels")
	bucketState    = []byte("state")
	bucketRows     = rowblock.Bucket
	bucketLag      = []byte("lag")
	bucketNotes    = []byte("notes")
	bucketMetadata = []byte("metadata")

	buckets = [][]byte{
		bucketMeta, bucketClasses, bucketDefs, bucketNames, bucketSeries,
		bucketLabels, bucketState, bucketRows, bucketLag, bucketNotes, bucketMetadata,
	}

	metaVersion   = []byte("version")   // uint32
	metaCatalogue = []byte("catalogue") // log position of catalogue, notes and settings
	metaGroups    = []byte("groups")    // highest log position of any group
	metaCount     = []byte("count")     // series
	metaMetadata  = []byte("metadata")  // paths with metadata
	metaReorder   = []byte("reorder")   // the reorder window in force at the catalogue's position, microseconds

	metaNumbers = [][]byte{metaCatalogue, metaGroups, metaCount, metaMetadata, metaReorder}
)

const (
	formatVersion = 2
	maxShards     = 64
	segmentBytes  = 16 << 20 // of the log: what a checkpoint gives back, it gives back in these
	shardQueue    = 64       // commits waiting for a shard; when it is full the log waits
)

func (o Options) withDefaults() Options {
	def := func(p *int64, v int64) {
		if *p == 0 {
			*p = v
		}
	}
	if o.MaxSeries == 0 {
		o.MaxSeries = 10_000_000
	}
	def(&o.MaxRows, DefaultMaxRows)
	def(&o.Memory, 4<<30)
	def(&o.CheckpointBytes, 64<<20)
	def((*int64)(&o.CheckpointInterval), int64(20*time.Minute))
	def((*int64)(&o.SyncInterval), int64(time.Second))
	if o.Owner == "" {
		o.Owner = filepath.Base(os.Args[0])
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Store is an open database folder. Its methods may be called concurrently.
type Store struct {
	dir       string
	options   Options
	lock      io.Closer
	db        *database
	log       Log
	holds     wal.Mark // how far the log reaches at least, by the database when it was opened
	space     groupSpace
	admission admission
	shards    []*shard
	running   sync.WaitGroup // shards

	catalogue catalogue
	notes     notes
	metadata  metadata

	calls    calls
	appender appender
	// fetchers are reused: a fetch allocates little but its answer.
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
	replaying bool // Open is at it
	madeAnew  bool // Open has made the database
	damage    damageSeen
	hook      func(string) // failpoints; nil but in tests
	counters
}

// Open opens the database in the folder dir, which is made if it is not there. It returns when
// everything that was acknowledged is back. The error wraps ErrLocked if another process has it.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" { // it would be the working folder
		return nil, invalid("open: the name of the folder is empty")
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	s := newStore(dir, o)
	if err := s.open(); err != nil {
		_ = s.abandon() // err is why
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return s, nil
}

// newStore is a store of which nothing is open yet.
func newStore(dir string, o Options) *Store {
	s := &Store{dir: dir, options: o.withDefaults(), hook: o.hook}
	s.admission.init(&s.space, &s.options)
	s.damage.logger = s.options.Logger
	s.calls.init()
	s.appender.init(s)
	s.fetchers.New = func() any { return &fetcher{key: make([]byte, 0, rowblock.KeyRoom)} }
	return s
}

func (s *Store) open() (err error) {
	begun := time.Now()
	if s.options.ReadOnly {
		if _, err := os.Stat(filepath.Join(s.dir, fileDB)); err != nil {
			return err
		}
	} else if err := makeFolder(s.dir); err != nil {
		return err
	} else if err := checkForeign(s.dir); err != nil {
		return err
	}
	if s.lock, err = lockFolder(filepath.Join(s.dir, fileLock), s.options); err != nil {
		return err
	}
	if !s.options.ReadOnly {
		if err := finishRestore(s.dir); err != nil {
			return err
		}
		s.removeSpool()
	}
	if err := s.openVersion(); err != nil {
		return databaseError(err)
	}
	n := min(runtime.GOMAXPROCS(0), maxShards)
	for i := range n {
		s.shards = append(s.shards, &shard{id: i, work: make(chan *delivery, shardQueue)})
	}
	s.appender.shards = s.shards
	after, err := s.loadCatalogue()
	if err != nil {
		return databaseError(err)
	}
	for _, sh := range s.shards {
		s.running.Go(func() { sh.run(s) })
	}
	if err := s.openLog(after); err != nil {
		return logError(err)
	}
	s.failpoint("open-log")
	if s.madeAnew && s.log.Last() > 0 {
		s.options.Logger.Warn("rondo.bolt was missing; it is made anew from the log, which holds all since the first record", "records", s.log.Last())
	}
	if b := s.options.rebuild; b != nil {
		if err := b.begin(context.Background(), s); err != nil {
			return err
		}
	}
	if err := s.replay(); err != nil {
		return logError(err)
	}
	if b := s.options.rebuild; b != nil {
		b.finish()
		return nil
	}
	s.failpoint("open-replayed")
	s.recovery = time.Since(begun)
	if err := s.settle(); err != nil {
		return err
	}
	s.startBackground()
	return nil
}

// openVersion opens the database, which it makes if it is not there, and checks its version.
func (s *Store) openVersion() (err error) {
	name := filepath.Join(s.dir, fileDB)
	o := databaseOptions{readOnly: s.options.ReadOnly, logger: s.options.Logger, fault: s.options.fault}
	if !s.options.ReadOnly {
		if _, err = os.Stat(name); errors.Is(err, os.ErrNotExist) {
			err = s.createDatabase(name, o)
			s.madeAnew = err == nil
		}
		if err != nil {
			return err
		}
	}
	if s.db, err = openDatabase(name, o); err != nil {
		return err
	}
	s.db.damage = &s.damage
	return s.db.View(bucketMeta, func(tx *bolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			return fmt.Errorf("no bucket %q: %w", bucketMeta, ErrVersion)
		}
		v := meta.Get(metaVersion)
		if len(v) == 4 {
			return fmt.Errorf("version %d: %w", binary.BigEndian.Uint32(v), ErrVersion)
		}
		v, err := getValue(tx, bucketMeta, metaVersion)
		switch {
		case err != nil:
			return err
		case v == nil: // it is put last when a backup is restored
			return fmt.Errorf("no version: %w", ErrVersion)
		case len(v) != 4 || binary.BigEndian.Uint32(v) != formatVersion:
			return fmt.Errorf("version %x: %w", v, ErrVersion)
		}
		for _, b := range buckets {
			if tx.Bucket(b) == nil {
				return &DamageError{Bucket: string(b), Err: errMissing}
			}
		}
		return nil
	})
}

// createDatabase makes an empty database. It gets its name when it is whole and on the disk: loss of power leaves all
// of it or nothing.
func (s *Store) createDatabase(name string, o databaseOptions) error {
	fresh := name + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	d, err := openDatabase(fresh, o)
	if err != nil {
		return err
	}
	log, err := s.makeLog()
	if err == nil {
		err = d.Update(nil, func(tx *bolt.Tx) error {
			return makeBuckets(tx, log)
		}, nil)
	}
	if err = errors.Join(err, d.close()); err != nil {
		return err
	}
	if err := d.ask("rename"); err != nil {
		return err
	}
	if err := os.Rename(fresh, name); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(name))
}

// makeBuckets makes an empty store of which log is the log.
func makeBuckets(tx *bolt.Tx, log wal.Mark) error {
	for _, b := range buckets {
		if _, err := tx.CreateBucketIfNotExists(b); err != nil {
			return err
		}
	}
	if err := putMark(tx, log); err != nil {
		return err
	}
	for _, key := range metaNumbers {
		if err := putNumber(tx, key, 0); err != nil {
			return err
		}
	}
	return putValue(tx, bucketMeta, metaVersion, binary.BigEndian.AppendUint32(nil, formatVersion))
}

// settle logs settings that differ from those in force.
func (s *Store) settle() error {
	want := rra.TimeOf(time.UnixMicro(int64(s.options.Reorder / time.Microsecond)))
	if s.options.ReadOnly || want == s.shards[0].reorder {
		return nil
	}
	rec := record.AppendTime([]byte{record.KindSettings}, want, 0)
	if err := s.enterWrite(); err != nil {
		return err
	}
	return s.changeNow(rec, func(t *Ticket) error { s.applySettings(t, want); return nil }, s.appender.lock)
}

// applySettings puts a reorder window in force.
func (s *Store) applySettings(t *Ticket, window rra.Time) {
	t.op.all = func(sh *shard) { sh.reorder = window }
	s.catalogue.mu.Lock()
	s.catalogue.settings = append(s.catalogue.settings, setting{t.pos, window})
	s.catalogue.mu.Unlock()
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

// begin is enterWrite and then admit. Where it does not succeed, or panics (ctx may be nil), the call is not counted:
// Close would wait for it for ever.
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

// closeBytes is how much log Close leaves for the next Open to replay, and closeLog how long a log to read, most of which
// may be in the database.
const (
	closeBytes = 256 << 10
	closeLog   = 1 << 20
)

// Close waits for calls under way, writes a checkpoint where the log is long, and releases the
// folder. It does not wait for tickets: batches on their way are acknowledged first. A disk without space for the
// checkpoint is no error: the log keeps all.
func (s *Store) Close() error {
	if err := s.calls.close(); err != nil {
		return err
	}
	if s.stop != nil {
		s.stop()
		s.background.Wait()
	}
	var err error
	if !s.options.ReadOnly && (s.admission.logged.Load()+s.replayed.Load() > closeBytes || s.logStats().Bytes > closeLog) {
		s.appender.drain() // what has been acknowledged by one shard, others may not have passed over yet
		err = s.checkpoint(context.Background())
	}
	err = s.unlessFull(err)
	if !s.options.ReadOnly {
		err = errors.Join(err, s.sealLog())
	}
	return errors.Join(err, s.abandon())
}

// unlessFull returns the error of a last write into the database, but none if the disk has no space: all that was
// acknowledged is in the log, from where the next Open has it.
func (s *Store) unlessFull(err error) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	s.options.Logger.Warn("the disk is full: the log keeps what the database has no space for", "err", err)
	return nil
}

// abandon releases everything without writing.
func (s *Store) abandon() error {
	var errs []error
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	for _, sh := range s.shards {
		close(sh.work)
	}
	s.running.Wait()
	if s.db != nil {
		errs = append(errs, s.db.close())
	}
	s.space.Close()
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// startBackground starts what writes checkpoints by itself.
func (s *Store) startBackground() {
	if s.options.ReadOnly || s.options.NoBackground {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.background.Go(func() {
		tick := time.NewTicker(s.options.CheckpointInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-s.admission.due:
			}
			if err := s.checkpoint(ctx); err != nil && ctx.Err() == nil {
				s.options.Logger.Error("checkpoint failed; it is tried again", "err", err)
				select { // not at once: a full disk stays full for a while
				case <-ctx.Done():
				case <-time.After(time.Second):
					s.admission.wake()
				}
			}
		}
	})
}
