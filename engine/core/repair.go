package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

// Repaired is what Repair has found and done.
type Repaired struct {
	Found []Problem // what was wrong; only why, if the database could not be opened
	Aside string    // the file that the damaged database was renamed to; empty: nothing was changed
	Done  []string  // what was made whole or anew
	Lost  []string  // what could not be read, and is gone or unknown now
	Left  []Problem // what is still wrong
}

// fileRepair is the new database while it is made.
const fileRepair = fileDB + ".repair"

// A repairing is a repair under way.
type repairing struct {
	s   *Store
	got Repaired

	moreDone, moreLost int // that the report has no room for

	proof       logProof
	nameOnly    map[Ref]string    // series that only a name is left of
	counted     uint64            // series that the old file counts
	nameless    uint64            // those of them that have neither a name nor a record
	damagedDefs []pair            // definitions whose number or value is damaged
	undefined   map[uint32]string // definitions that are lost, each with the reason
	// codes of lost definitions that replay of the log has told; empty: it has told two
	learned         map[uint32]string
	unsure          bool // labels may be lost that nothing tells of
	stirred         bool // states in memory are other than those of the new file
	shut, stillShut bool // Open refuses the old file, and the new one
}

// toldRepairs bounds how many lines a report has of one kind.
const toldRepairs = maxProblems

func (r *repairing) done(format string, args ...any) {
	if len(r.got.Done) < toldRepairs {
		r.got.Done = append(r.got.Done, fmt.Sprintf(format, args...))
	} else {
		r.moreDone++
	}
}

func (r *repairing) lose(format string, args ...any) {
	if len(r.got.Lost) < toldRepairs {
		r.got.Lost = append(r.got.Lost, fmt.Sprintf(format, args...))
	} else {
		r.moreLost++
	}
}

// Repair makes a damaged database usable. Everything that can be read is copied into a new file,
// which takes the place of the damaged one at the end; that is set aside and kept. Names, the label
// index and counts are made anew from the records of the series, records of series from names,
// labels and states. Rows that cannot be read come from the log if it has all of a series, and are
// unknown elsewhere. A state that cannot be read is made anew: from the log, if it has all of a
// series; else the series keeps the rows that are stored, and its values are known again from its
// second reading on. The log keeps what it holds. A repair that can mend nothing leaves the
// database as it is. A definition that cannot be read comes from the log; where the log does not
// have it, its series are dropped. The error wraps ErrLocked if another process has the folder, and
// ErrDamaged if what a repair needs is damaged itself (a class, the log's position); nothing has
// changed then. The error wraps ErrNewer, and nothing has changed, if a newer version of rondo has
// written a part of the database or of the log. If a repair would or may lose something, or refuse,
// and the log has everything since its first record, the whole database is made anew from the log.
func Repair(ctx context.Context, dir string, o Options) (got Repaired, err error) {
	o.NoBackground, o.ReadOnly = true, false
	if err := hasDatabase(dir); err != nil {
		return got, err
	}
	r := &repairing{nameOnly: make(map[Ref]string), learned: make(map[uint32]string)}
	if r.got.Found, r.shut, err = inspect(ctx, dir, o); err != nil || len(r.got.Found) == 0 {
		return r.got, err
	}
	if err := r.newerPart(dir); err != nil {
		return r.got, fmt.Errorf("repair %s: %w", dir, err)
	}
	if err := r.repair(ctx, dir, o); err != nil {
		return r.got, fmt.Errorf("repair %s: %w", dir, err)
	}
	return r.got, nil
}

// newerPart returns an error if a newer version of rondo wrote a part of the database or its log.
func (r *repairing) newerPart(dir string) error {
	for _, p := range r.got.Found {
		if p.newer {
			return newerPart{p.String()}
		}
	}
	l, err := wal.Open(filepath.Join(dir, dirLog), wal.Options{ReadOnly: true})
	if err == nil {
		err = errors.Join(l.Whole(), l.Close())
	}
	if errors.Is(err, wal.ErrNewer) {
		return logError(err)
	}
	return nil // other errors show when the log is needed
}

// inspect opens and checks a database. An error says that it cannot be looked at now.
func inspect(ctx context.Context, dir string, o Options) (found []Problem, shut bool, err error) {
	o.ReadOnly = true
	s, err := Open(dir, o)
	if errors.Is(err, ErrDamaged) {
		return []Problem{{Where: dir, What: err.Error()}}, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	found, err = s.Check(ctx)
	return found, false, errors.Join(err, s.Close())
}

// repair makes a new file of what can be read of the old one and of the log, and puts it in its
// place if it is better.
func (r *repairing) repair(ctx context.Context, dir string, o Options) (err error) {
	o.rebuild = &rebuild{r: r} // also for the new file while it is made
	r.s = newStore(dir, o)
	lock, err := lockFolder(filepath.Join(dir, fileLock), r.s.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	name, fresh := filepath.Join(dir, fileDB), filepath.Join(dir, fileRepair)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer func() { _ = os.Remove(fresh) }() // what stays is removed by the next repair
	for {
		if err = r.makeFile(name, fresh); err == nil {
			err = r.mend(ctx, dir, o)
		}
		if !r.hasLearned() {
			break
		}
		if err := os.Remove(fresh); err != nil {
			return err
		}
		r.beginAnew()
		r.s = newStore(dir, o)
	}
	if poor := r.unsure || len(r.got.Lost)+len(r.got.Left) > 0; err == nil && poor || errors.Is(err, ErrDamaged) {
		if mark, whole := r.wholeLog(dir); whole {
			if err = r.fromLog(fresh, mark); err == nil {
				err = r.mend(ctx, dir, o)
			}
		}
	}
	if err != nil {
		return err
	}
	if r.vain() {
		return nil
	}
	if r.moreDone > 0 {
		r.got.Done = append(r.got.Done, fmt.Sprintf("and %d more", r.moreDone))
	}
	if r.moreLost > 0 {
		r.got.Lost = append(r.got.Lost, fmt.Sprintf("and %d more", r.moreLost))
	}
	return r.exchange(dir, name, fresh)
}

// beginAnew forgets what was done to the new file.
func (r *repairing) beginAnew() {
	r.got.Done, r.got.Lost, r.got.Left = nil, nil, nil
	r.moreDone, r.moreLost, r.damagedDefs, r.undefined = 0, 0, nil, nil
	r.counted, r.nameless = 0, 0
	clear(r.nameOnly)
	r.unsure, r.stirred, r.stillShut = false, false, false
}

// mend opens the new file as a store of the folder, which takes what the log has, and puts right
// what is still wrong with it.
func (r *repairing) mend(ctx context.Context, dir string, o Options) error {
	o.rebuild = &rebuild{r: r}
	s, err := Open(dir, o)
	if errors.Is(err, ErrDamaged) {
		r.got.Left, r.stillShut = []Problem{{Where: dir, What: err.Error()}}, true
		return nil
	}
	if err != nil {
		return err
	}
	r.s = s
	s.checkpoints.pins++ // the log stays: it and the file that is set aside are all that was there
	err = r.dropUndefined()
	if err == nil {
		err = r.dropNameOnly()
	}
	if err == nil {
		err = r.strays()
	}
	if err == nil && (o.rebuild.anyState() || r.stirred) {
		err = s.Checkpoint(ctx)
	}
	if err == nil {
		err = r.rows(ctx)
	}
	if err == nil {
		err = r.count()
	}
	if err == nil {
		r.got.Left, err = s.Check(ctx)
	}
	return errors.Join(err, s.Close())
}

// vain says that all is as it was before.
func (r *repairing) vain() bool {
	same := r.shut && r.stillShut || slices.Equal(r.got.Found, r.got.Left)
	return same && len(r.got.Done)+len(r.got.Lost) == 0
}

// exchange puts the new file in the place of the damaged one, and that aside.
func (r *repairing) exchange(dir, name, fresh string) error {
	aside := asideName(name)
	if err := os.Link(name, aside); err != nil { // the folder has a database at every moment
		return err
	}
	r.got.Aside = aside
	if err := os.Rename(fresh, name); err != nil {
		return err
	}
	return owner.SyncFolder(dir)
}

// makeFile makes the new file.
func (r *repairing) makeFile(name, fresh string) (err error) {
	old, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }() // it was only read
	st, err := old.Stat()
	if err != nil {
		return err
	}
	s := r.s
	s.appender.shards = []*shard{{}}
	if s.db, err = boltfile.Open(fresh, boltfile.Options{Logger: s.options.Logger, NoSync: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.db.Close()) }()
	c := &pageCopy{r: r, to: s.db, pending: make(map[string][]pair)}
	if err := boltfile.Salvage(old, st.Size(), c); err != nil {
		return err
	}
	if err := c.flush(); err != nil {
		return err
	}
	if err := r.prove(); err != nil {
		return err
	}
	if err := r.numbers(); err != nil {
		return err
	}
	if err := r.definitions(); err != nil {
		return err
	}
	if _, err := s.loadCatalogue(); err != nil {
		return fmt.Errorf("it cannot be made anew, restore a backup: %w", err)
	}
	if err := r.index(); err != nil {
		return err
	}
	return s.db.Sync()
}
