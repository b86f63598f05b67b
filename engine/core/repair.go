package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rondo-db/rondo/engine/internal/boltfile"
)

// Repaired is what Repair has found and done.
type Repaired struct {
	Found []Problem // what was wrong; where the database could not be opened that is all that is said
	Aside string    // the file that the damaged database was renamed to; empty: nothing was done
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
// which takes the place of the damaged one; that is set aside and kept. Names, the label index and
// counts are made anew from the records of the series, records of series from names, labels and
// states. Rows that cannot be read come from the log if it has all of a series, and are unknown
// elsewhere. A state that cannot be read is made anew: from the log, if it has all of a series;
// else the series keeps the rows that are stored, and its values are known again from its second
// reading on. The log stays as it is. The error wraps ErrLocked if another process has the folder,
// and ErrDamaged if what a repair needs is damaged itself (definitions, the log's position);
// nothing has changed then.
func Repair(ctx context.Context, dir string, o Options) (got Repaired, err error) {
	o.NoBackground, o.ReadOnly = true, false
	if _, err := os.Stat(filepath.Join(dir, fileDB)); err != nil {
		return got, err
	}
	r := &repairing{}
	var whole bool
	if whole, r.got.Found, err = inspect(ctx, dir, o); err != nil || whole {
		return r.got, err
	}
	if err := r.rebuild(dir, o); err != nil {
		return r.got, fmt.Errorf("repair %s: %w", dir, err)
	}
	o.rebuild = &rebuild{r: r}
	s, err := Open(dir, o)
	if err != nil {
		r.got.Left = []Problem{{dir, err.Error()}}
		return r.got, nil
	}
	r.s = s
	s.checkpoints.pins++ // the log stays: it and the file that was set aside are all that there was
	if o.rebuild.anyState() {
		err = s.Checkpoint(ctx)
	}
	if err == nil {
		err = r.rows(ctx)
	}
	if err == nil {
		r.got.Left, err = s.Check(ctx)
	}
	if r.moreDone > 0 {
		r.got.Done = append(r.got.Done, fmt.Sprintf("and %d more", r.moreDone))
	}
	if r.moreLost > 0 {
		r.got.Lost = append(r.got.Lost, fmt.Sprintf("and %d more", r.moreLost))
	}
	return r.got, errors.Join(err, s.Close())
}

// inspect opens and checks a database. An error says that it cannot be looked at now.
func inspect(ctx context.Context, dir string, o Options) (whole bool, found []Problem, err error) {
	o.ReadOnly = true
	s, err := Open(dir, o)
	if errors.Is(err, ErrDamaged) {
		return false, []Problem{{fileDB, err.Error()}}, nil
	}
	if err != nil {
		return false, nil, err
	}
	found, err = s.Check(ctx)
	return len(found) == 0, found, errors.Join(err, s.Close())
}

// rebuild makes a new file of what can be read of the old one, and puts it in its place.
func (r *repairing) rebuild(dir string, o Options) (err error) {
	s := newStore(dir, o)
	s.appender.shards = []*shard{{}}
	r.s = s
	if s.lock, err = lockFolder(filepath.Join(dir, fileLock), s.options); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lock.Close()) }()
	name, fresh := filepath.Join(dir, fileDB), filepath.Join(dir, fileRepair)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(fresh) // what stays is removed by the next repair
		}
	}()
	if err := r.makeFile(name, fresh); err != nil {
		return err
	}
	for i := 1; ; i++ {
		r.got.Aside = fmt.Sprintf("%s.damaged-%d", name, i)
		if _, err := os.Lstat(r.got.Aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := os.Link(name, r.got.Aside); err != nil { // the folder has a database at every moment
		return err
	}
	if err := os.Rename(fresh, name); err != nil {
		return err
	}
	return syncFolder(dir)
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
	if err := r.numbers(); err != nil {
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
