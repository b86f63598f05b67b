package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/engine/internal/backup"
	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/engine/internal/damage"
	"github.com/rondo-db/rondo/engine/internal/folderlock"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/internal/record"
	"github.com/rondo-db/rondo/wal"
)

// Open opens the database in the folder dir, and makes folder and database if they are missing.
// When Open returns, every sample that was ever acknowledged can be read. The error wraps ErrLocked
// if another process has the database open, and ErrDamaged if rondo check --repair or rondo wal
// salvage must mend it first.
func Open(dir string, o Options) (*Store, error) {
	if dir == "" { // would mean the working folder
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

// open takes the folder, opens the database and the log, and replays what the database does not
// hold yet. After an error the caller calls abandon.
func (s *Store) open() (err error) {
	begun := time.Now()
	if s.options.ReadOnly {
		if err := hasDatabase(s.dir); err != nil {
			return err
		}
	} else if err := owner.MkdirAll(s.dir, 0o700); err != nil {
		return err
	} else if err := checkForeign(s.dir); err != nil {
		return err
	}
	if s.lock, err = folderlock.Take(filepath.Join(s.dir, fileLock), s.options.Owner, s.options.ReadOnly); err != nil {
		return err
	}
	if err := HalfRestored(s.dir); err != nil {
		return err
	}
	if !s.options.ReadOnly {
		_ = os.Remove(filepath.Join(s.dir, dirRestore)) // fails if it is not empty
		removeLeft(s.dir)
	}
	madeAnew, err := s.openVersion()
	if err == nil {
		err = s.compactAtStart()
	}
	if err != nil {
		return databaseError(err)
	}
	s.makeShards()
	after, err := s.loadCatalogue()
	if err != nil {
		return databaseError(err)
	}
	for _, sh := range s.appender.shards {
		s.appender.running.Go(func() { sh.run(s) })
	}
	if s.options.Follow != nil {
		return s.openFollower(after, begun)
	}
	return s.openLeader(after, begun, madeAnew)
}

// openFollower lets the store follow its log. Groups of the database may be at position after.
func (s *Store) openFollower(after wal.Pos, begun time.Time) error {
	s.passed(s.catalogue.pos)
	s.replica.floor = after
	s.log.set(&followedLog{s})
	s.recovery = time.Since(begun)
	s.checkpoints.start()
	s.replica.changing.Lock()
	defer s.replica.changing.Unlock()
	s.replica.follow()
	return nil
}

// openLeader opens the log for writing, and replays what the database does not hold yet.
func (s *Store) openLeader(after wal.Pos, begun time.Time, madeAnew bool) error {
	if err := s.openLog(after); err != nil {
		return logError(err)
	}
	s.failpoint("open-log")
	if last := s.log.get().Last(); madeAnew && last > 0 {
		s.options.Logger.Warn("rondo.bolt was missing; it is made anew from the log, which holds all since the first record", "records", last)
	}
	if err := s.replay(); err != nil {
		return logError(err)
	}
	s.failpoint("open-replayed")
	s.recovery = time.Since(begun)
	if err := s.logSettings(); err != nil {
		return err
	}
	s.checkpoints.start()
	return nil
}

// makeShards makes a shard for each processor.
func (s *Store) makeShards() {
	for i := range min(runtime.GOMAXPROCS(0), maxShards) {
		s.appender.shards = append(s.appender.shards, &shard{id: i, work: make(chan *delivery, shardQueue)})
	}
}

// A wayOut is an error of Open that says which command mends the store. It matches ErrDamaged.
type wayOut struct {
	part string // the file or folder of the store
	err  error
	help string
}

func (e *wayOut) Error() string        { return e.part + ": " + e.err.Error() + " (" + e.help + ")" }
func (e *wayOut) Unwrap() error        { return e.err }
func (e *wayOut) Is(target error) bool { return target == ErrDamaged }

// databaseError wraps an error that Open met in the database.
func databaseError(err error) error {
	if _, told := errors.AsType[*wayOut](err); told {
		return err
	}
	if errors.Is(err, ErrNewer) {
		if d, ok := errors.AsType[*DamageError](err); ok { // it is not damaged
			err = fmt.Errorf("%s %s: %w", d.Bucket, damage.KeyText(d.Key), d.Err)
		}
		return newerPart{fileDB + ": " + err.Error()}
	}
	if errors.Is(err, ErrDamaged) {
		return &wayOut{fileDB, err, "rondo check --repair puts what can be read into a new file"}
	}
	return fmt.Errorf("%s: %w", fileDB, err)
}

// A newerPart is an error of a log or a database that a newer version of rondo wrote in part. It
// matches ErrNewer and ErrVersion, and not ErrDamaged.
type newerPart struct{ text string }

func (e newerPart) Error() string { return e.text }
func (e newerPart) Unwrap() error { return ErrNewer }

// logError wraps an error that Open met in the log.
func logError(err error) error {
	if errors.Is(err, wal.ErrNewer) {
		return newerPart{dirLog + ": " + err.Error()}
	}
	_, corrupt := errors.AsType[*wal.CorruptError](err)
	if corrupt || errors.Is(err, wal.ErrHole) || errors.Is(err, record.ErrParse) {
		return &wayOut{dirLog, err, "rondo wal salvage shows what can be kept, and makes the store usable without the rest"}
	}
	return fmt.Errorf("%s: %w", dirLog, err)
}

// errForeign says that a folder holds other things than a database.
var errForeign = errors.New("the folder holds other files and no database, and none is made among them: name a folder that is empty, or not there yet")

// checkForeign refuses a folder that holds files and no part of a database, because a mistyped name
// would scatter the files of a new database among them. Hidden files, sockets and a file system's
// lost+found do not count.
func checkForeign(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	foreign := false
	for _, e := range entries {
		switch name := e.Name(); {
		case name == fileDB, name == dirLog, name == dirRestore, name == dirCopying, name == dirRepair:
			return nil
		case name == fileLock, strings.HasPrefix(name, "rondo."), strings.HasPrefix(name, "."), name == "lost+found", e.Type()&fs.ModeSocket != 0:
		default:
			foreign = true
		}
	}
	if foreign {
		return errForeign
	}
	return nil
}

// removeLeft removes what a crash leaves of a backup, of a compaction and of a repair. A failure
// only costs space.
func removeLeft(dir string) {
	for _, name := range []string{backup.SpoolFile, fileDB + boltfile.CompactSuffix} {
		_ = os.Remove(filepath.Join(dir, name))
	}
	for _, name := range []string{dirCopying, dirRepair} { // not needed: see HalfRestored
		_ = os.RemoveAll(filepath.Join(dir, name))
	}
}

// asideName returns the name that the damaged file or folder name is renamed to. No file has it.
func asideName(name string) string {
	for i := 1; ; i++ {
		aside := fmt.Sprintf("%s.damaged-%d", name, i)
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			return aside
		}
	}
}

// Close leaves at most closeBytes of records for the next Open to replay, and at most closeLog
// bytes of log for it to read; the database may hold part of them already.
const (
	closeBytes = 256 << 10
	closeLog   = 1 << 20
)

// Close waits for the calls under way, writes a checkpoint if the log is long, and releases the
// folder. Batches on their way are acknowledged first; Close does not wait until somebody calls
// Wait on their tickets. A disk without space for the checkpoint is not an error: the log keeps
// everything.
func (s *Store) Close() error {
	if err := s.calls.close(); err != nil {
		return err
	}
	s.replica.close()
	s.checkpoints.end()
	var err error
	if !s.options.ReadOnly && (s.admission.logged.Load()+s.checkpoints.replayed.Load() > closeBytes || s.logStats().Bytes > closeLog) {
		// One shard may have acknowledged what others have not passed over yet.
		s.appender.drain()
		err = s.checkpoints.run(context.Background())
	}
	err = s.unlessFull(err)
	if !s.options.ReadOnly {
		err = errors.Join(err, s.sealLog())
	}
	return errors.Join(err, s.abandon())
}

// unlessFull returns err, the error of the last write into the database, or nil if the disk has no
// space: everything that was acknowledged is in the log, where the next Open finds it.
func (s *Store) unlessFull(err error) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	s.options.Logger.Warn("the disk is full: the log keeps what the database has no space for", "err", err)
	return nil
}

// abandon releases everything without writing.
func (s *Store) abandon() error {
	s.replica.close()
	var errs []error
	if l := s.log.get(); l != nil {
		errs = append(errs, l.Close())
	}
	for _, sh := range s.appender.shards {
		close(sh.work)
	}
	s.appender.running.Wait()
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	s.space.Close()
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	return errors.Join(errs...)
}

// A calls counts the calls and batches that are under way in a store, so that Close can wait for
// them.
type calls struct {
	n      atomic.Int64
	closed atomic.Bool
	idle   chan struct{} // gets a message when the last call leaves a closed store; holds one
}

func (c *calls) init() { c.idle = make(chan struct{}, 1) }

// enter counts a call until leave. Who calls it, or one of Store's methods that do, defers leave if
// the error is nil. The error is ErrClosed.
func (c *calls) enter() error {
	c.n.Add(1)
	if c.closed.Load() {
		c.leave()
		return ErrClosed
	}
	return nil
}

// enterAgain counts one more call of a caller that is counted already.
func (c *calls) enterAgain() { c.n.Add(1) }

func (c *calls) leave() {
	if c.n.Add(-1) == 0 && c.closed.Load() {
		signal(c.idle)
	}
}

// close lets no more calls in and waits until the last one has left. It returns ErrClosed the
// second time.
func (c *calls) close() error {
	if c.closed.Swap(true) {
		return ErrClosed
	}
	for c.n.Load() > 0 {
		<-c.idle
	}
	return nil
}

// start starts the goroutine that writes checkpoints by the clock and when one is due.
func (cp *checkpointer) start() {
	if cp.s.options.ReadOnly || cp.s.options.NoBackground {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cp.stop = cancel
	cp.background.Go(func() {
		tick := time.NewTicker(cp.s.options.CheckpointInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-cp.s.admission.due:
			}
			if err := cp.run(ctx); err != nil && ctx.Err() == nil {
				cp.s.options.Logger.Error("checkpoint failed; it is tried again", "err", err)
				select { // not at once: a full disk stays full for a while
				case <-ctx.Done():
				case <-time.After(time.Second):
					cp.s.admission.wake()
				}
			}
		}
	})
}

// end ends the background goroutine and waits for it.
func (cp *checkpointer) end() {
	if cp.stop != nil {
		cp.stop()
		cp.background.Wait()
	}
}
