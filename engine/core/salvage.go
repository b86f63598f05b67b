package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/rondo-db/rondo/engine/internal/folderlock"
	"github.com/rondo-db/rondo/internal/owner"
)

// Salvage copies what can be read of a damaged database into a new one, in four steps:
//
//   - salvage_gather.go: all entries whose checksums are right go into a work file, page by page.
//     Names and records of series are completed from each other.
//   - salvage_replay.go: the work file is opened like a store. Each series of a group without a
//     state begins at the end of its newest stored row. The log is replayed as far as it fits.
//   - copyAll: each series is exported from the work file and imported into the new store.
//   - The new store takes its place in the folder, as a restored backup does.
//
// Whatever is left out gets a line in Salvaged.Lost.

// Salvaged is what Salvage has copied, and what it has left out.
type Salvaged struct {
	Series int      // that were copied
	Lost   []string // what was left out or became unknown, and why
}

// Repaired is what Repair has found and done.
type Repaired struct {
	Found []Problem // what was wrong; only why, if the database could not be opened
	Aside []string  // what database and log were renamed to; empty: nothing was changed
	Ended bool      // an earlier repair was killed between its renames, and this one made the others
	Salvaged
}

// ErrNothingReads says that no series of a damaged database can be read.
var ErrNothingReads = errors.New("no series can be read, restore a backup")

// Salvage copies every series that can be read of the database in the folder from, and of its log,
// into a new database in the folder to, which must be absent or empty. Rows that cannot be read are
// unknown in the copy. A series without a readable state begins at the end of its newest stored
// row. The folder from stays as it is. The error wraps ErrLocked if another process uses one of the
// folders, ErrNewer if a newer version of rondo wrote the database, and ErrNothingReads.
func Salvage(ctx context.Context, from, to string, o Options) (got Salvaged, err error) {
	o.ReadOnly = true
	if s, err := Open(from, o); err == nil {
		_ = s.Close() // it was only read
	} else if errors.Is(err, ErrVersion) {
		return got, err
	}
	err = locked(from, &o, func() error {
		err := fillFolder(to, []string{dirLog, fileDB}, func(inside string) (err error) {
			got, err = salvageInto(ctx, from, inside, o, false)
			return err
		})
		if err != nil {
			err = fmt.Errorf("salvage %s into %s: %w", from, to, err)
		}
		return err
	})
	return got, err
}

// Repair makes the new database in dirCopying, inside of the folder of the damaged one, and names
// that folder dirRepair once all of it is durable.
const (
	dirCopying = "copying"
	dirRepair  = "repairing"
)

// Repair puts what Salvage can copy in the place of a damaged database, which is kept aside with
// its log. A database without problems is left alone. It returns the errors of Salvage; a replica
// whose log is elsewhere is refused, because its other replicas have everything.
func Repair(ctx context.Context, dir string, o Options) (got Repaired, err error) {
	o.NoBackground, o.ReadOnly = true, false
	if exists(filepath.Join(dir, dirRepair, fileDB)) && !exists(filepath.Join(dir, fileDB)) {
		got.Ended = true
		return got, finishRepair(dir, o)
	}
	if err := hasDatabase(dir); err != nil {
		return got, err
	}
	if got.Found, err = inspect(ctx, dir, o); err != nil || len(got.Found) == 0 {
		return got, err
	}
	err = locked(dir, &o, func() error { return repair(ctx, dir, o, &got) })
	if err != nil {
		err = fmt.Errorf("repair %s: %w", dir, err)
	}
	return got, err
}

// inspect opens and checks a database. An error says that it cannot be looked at now.
func inspect(ctx context.Context, dir string, o Options) ([]Problem, error) {
	o.ReadOnly = true
	s, err := Open(dir, o)
	if errors.Is(err, ErrDamaged) {
		return []Problem{{Where: dir, What: err.Error()}}, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := s.Check(ctx)
	if i := slices.IndexFunc(found, func(p Problem) bool { return p.newer }); i >= 0 && err == nil {
		err = newerPart{found[i].String()}
	}
	return found, errors.Join(err, s.Close())
}

// repair is Repair of a folder that is locked.
func repair(ctx context.Context, dir string, o Options, got *Repaired) (err error) {
	inside, whole := filepath.Join(dir, dirCopying), filepath.Join(dir, dirRepair)
	if err := errors.Join(os.RemoveAll(inside), os.RemoveAll(whole)); err != nil {
		return err
	}
	if err := owner.Mkdir(inside, 0o700); err != nil {
		return err
	}
	if got.Salvaged, err = salvageInto(ctx, dir, inside, o, true); err != nil {
		_ = os.RemoveAll(inside) // what stays is removed by the next Open
		return err
	}
	if err := owner.SyncFolder(inside); err != nil {
		return err
	}
	if err := mustMove(inside, whole); err != nil {
		return err
	}
	// From the first rename to the last the folder has no database: Open refuses it, and another
	// Repair goes on.
	for _, name := range []string{fileDB, dirLog} {
		aside := asideName(filepath.Join(dir, name))
		moved, err := move(filepath.Join(dir, name), aside)
		if moved {
			got.Aside = append(got.Aside, aside)
		}
		if err != nil {
			return err
		}
	}
	return moveRepaired(dir)
}

// finishRepair goes on with a repair that was ended between its renames.
func finishRepair(dir string, o Options) (err error) {
	lock, err := folderlock.Take(filepath.Join(dir, fileLock), o.Owner, o.ReadOnly)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if old := filepath.Join(dir, dirLog); exists(old) && exists(filepath.Join(dir, dirRepair, dirLog)) {
		if _, err := move(old, asideName(old)); err != nil {
			return err
		}
	}
	return moveRepaired(dir)
}

// moveRepaired moves the new database to its place: the log first, so that the folder has a
// database only when it has both.
func moveRepaired(dir string) error {
	inside := filepath.Join(dir, dirRepair)
	if err := owner.SyncFolder(dir); err != nil { // an attempt that was killed may have moved the log
		return err
	}
	for _, name := range []string{dirLog, fileDB} {
		if _, err := move(filepath.Join(inside, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	_ = os.RemoveAll(inside) // what stays is removed by the next Open
	return owner.SyncFolder(dir)
}

// fileWork is what salvageInto gathers the readable entries in.
const fileWork = fileDB + ".work"

// salvageInto makes a new database, and its log, in the folder to. It does not lock from. One that
// takes the place of a replica is refused.
func salvageInto(ctx context.Context, from, to string, o Options, inPlace bool) (got Salvaged, err error) {
	name := filepath.Join(to, fileWork)
	defer func() { err = errors.Join(err, removeIf(name)) }()
	x := &salvaging{dir: from, options: o, lost: make(map[groupID]bool), classes: make(map[uint32]bool), newest: make(map[Ref]int64), remade: make(map[Ref]string), left: make(map[Ref]bool)}
	if err := x.gather(name); err != nil {
		return got, err
	}
	if inPlace && x.elsewhere {
		return got, fmt.Errorf("%w: it is a replica, whose log is elsewhere: restore it from another replica, or salvage it into another folder", ErrInvalid)
	}
	s, err := x.open(to, name)
	if err != nil {
		return got, err
	}
	err = x.replay()
	if err == nil {
		err = x.copyAll(ctx, to)
	}
	if err = errors.Join(err, s.abandon()); err == nil && x.copied == 0 && x.named != 0 {
		err = ErrNothingReads
	}
	if x.more > 0 {
		x.lines = append(x.lines, fmt.Sprintf("and %d more", x.more))
	}
	return Salvaged{x.copied, x.lines}, err
}

func removeIf(name string) error {
	if err := os.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A salvaging is a salvage under way.
type salvaging struct {
	dir     string // of the damaged database
	options Options
	lines   []string // of Salvaged.Lost
	more    int      // lines that the report has no room for

	logged    logMark // zero: it is not known
	elsewhere bool    // the log is not in the folder
	noPos     bool    // it is not known up to where the database holds the log

	s       *Store // the work file
	lost    map[groupID]bool
	classes map[uint32]bool // that are lost
	remade  map[Ref]string  // records that were made of a name and a state: what they may lack
	newest  map[Ref]int64   // where series of lost groups begin, in seconds
	doubt   string          // why the log may mean other series than those found; empty: it does not
	path    string          // of the series that is copied now
	copied  int
	named   int          // series that the damaged database has; -1: not known, and none found
	left    map[Ref]bool // series that were left out, and named
	noDefs  bool         // a definition is lost
}

// mostLost bounds the lines of a report.
const mostLost = 1000

// lose adds a line to the report.
func (x *salvaging) lose(format string, args ...any) {
	if len(x.lines) < mostLost {
		x.lines = append(x.lines, fmt.Sprintf(format, args...))
	} else {
		x.more++
	}
}

// unread notes rows that a fetch cannot read.
func (x *salvaging) unread(e *DamageError) {
	named := *e
	named.Series = x.path
	x.lose("%v", &named)
}

// lostClass notes that a class cannot be read, and returns one without groups in its place.
func (x *salvaging) lostClass(id uint32) *class {
	x.classes[id] = true
	x.doubt = fmt.Sprintf("class %d is lost", id)
	x.lose("%s, and so are the series that have it", x.doubt)
	c := &class{id: id}
	c.groups.Store(&[]*group{})
	return c
}

// lostGroup says whether runs of the log for a group cannot be decoded, because each is coded
// against a state that is lost. x may be nil: then no group is lost.
func (x *salvaging) lostGroup(id groupID) bool {
	return x != nil && (x.classes[id.Class] || x.lost[id])
}
