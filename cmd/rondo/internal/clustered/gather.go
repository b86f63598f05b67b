package clustered

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rondo-db/rondo/cluster/copying"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/owner"
)

// Parts are the partitions of a cluster, as backups of them are made. *Client is one.
type Parts interface {
	Partitions() int
	// Backup writes a backup of a partition to w. It may write a part before it fails; the error
	// wraps core.ErrUnavailable if another attempt may succeed.
	Backup(ctx context.Context, partition int, w io.Writer) error
}

// Backup is as Parts has it.
func (c *Client) Backup(ctx context.Context, partition int, w io.Writer) error {
	wait, cancel := context.WithTimeout(ctx, leaderTime)
	defer cancel()
	e, err := c.Partition(wait, partition)
	if err != nil {
		return err
	}
	return e.Backup(ctx, w)
}

// leaderTime bounds how long a leader is waited for.
const leaderTime = 30 * time.Second

// GatherOptions say how a database is made of a cluster.
type GatherOptions struct {
	Memory int64 // of the database that is written; half of it also goes to the one that is read
	// Backed is called when all partitions are backed up, Step when some more series are done; nil:
	// nobody looks. Step may be called concurrently.
	Backed func()
	Step   func(series int)
	// Files puts what is beside the series into the folder of the database; nil: nothing.
	Files func(ctx context.Context, dir string) error
}

// Gathered is what Gather has done.
type Gathered struct {
	copying.Result
	// Each partition is as it was at one moment from First to Last.
	First, Last time.Time
}

// The parts of the folder in which Gather works, which is beside the folder that it makes.
const (
	partialSuffix = ".partial"
	gatherDB      = "db"
	gatherPart    = "part"
)

const (
	gatherJobs  = 4  // partitions that are backed up at the same time
	gatherTries = 10 // of each
	gatherWaits = 2  // of these, if the partition has no leader for leaderTime
)

// Gather makes the database of one machine, in the folder dir, of a cluster. It first takes a
// backup of each partition, so that all are as they were at about the same time, and then copies
// one after the other and compares. dir appears when it is whole; until then Gather works in
// dir.partial, which it removes, also one that a killed Gather has left.
//
// If single series could not be copied the folder has all others, and the error says how many are
// missing. After any other error there is no folder.
func Gather(ctx context.Context, from Parts, dir string, o GatherOptions) (got Gathered, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return got, fmt.Errorf("%s is not empty", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return got, err
	}
	work := filepath.Clean(dir) + partialSuffix
	if err := os.MkdirAll(work, 0o700); err != nil {
		return got, err
	}
	db, err := openFresh(work, o)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if got, err = gather(ctx, from, work, db, o); err == nil {
		err = db.Checkpoint(ctx)
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return got, err
	}
	if o.Files != nil {
		if err := o.Files(ctx, filepath.Join(work, gatherDB)); err != nil {
			return got, err
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) { // it is empty
		return got, err
	}
	if err := os.Rename(filepath.Join(work, gatherDB), dir); err != nil {
		return got, err
	}
	if err := owner.SyncFolder(filepath.Dir(filepath.Clean(dir))); err != nil {
		return got, err
	}
	if got.Failed > 0 {
		return got, fmt.Errorf("%d series or other entries could not be copied, and are not in %s", got.Failed, dir)
	}
	return got, nil
}

// openFresh opens an empty database in a working folder. It removes what a killed process has left
// there. The error wraps core.ErrLocked if another process works in the folder.
func openFresh(work string, o GatherOptions) (*core.Store, error) {
	options := core.Options{Memory: o.Memory}
	name := filepath.Join(work, gatherDB)
	if _, err := os.Stat(name); err == nil {
		left, err := core.Open(name, options)
		if errors.Is(err, core.ErrLocked) {
			return nil, err
		}
		if err == nil {
			if err := left.Close(); err != nil {
				return nil, err
			}
		}
	}
	if err := os.RemoveAll(work); err != nil {
		return nil, err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return nil, err
	}
	return core.Open(name, options)
}

// gather backs up all partitions, and copies them into db.
func gather(ctx context.Context, from Parts, work string, db *core.Store, o GatherOptions) (got Gathered, err error) {
	names := make([]string, from.Partitions())
	for p := range names {
		names[p] = filepath.Join(work, fmt.Sprintf("p%d.zst", p))
	}
	got.First = time.Now()
	if err := backupAll(ctx, from, names); err != nil {
		return got, err
	}
	if got.Last = time.Now(); o.Backed != nil {
		o.Backed()
	}
	for p, name := range names {
		x, err := copyPart(ctx, name, filepath.Join(work, gatherPart), db, o)
		got.Add(x)
		if err != nil {
			return got, fmt.Errorf("partition %d: %w", p, err)
		}
		if err := os.Remove(name); err != nil {
			return got, err
		}
	}
	if n := db.Stats().Series; n != got.Series-got.Failed && got.Failed == 0 {
		return got, fmt.Errorf("the database has %d series, the partitions have %d", n, got.Series)
	}
	return got, nil
}

// backupAll writes a backup of each partition to the file of its number.
func backupAll(ctx context.Context, from Parts, names []string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(gatherJobs)
	for p, name := range names {
		g.Go(func() error {
			if err := backupPart(ctx, from, p, name); err != nil {
				return fmt.Errorf("backup of partition %d: %w", p, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// backupPart writes a backup of a partition to a file. When the leader changes meanwhile, it begins
// again.
func backupPart(ctx context.Context, from Parts, p int, name string) error {
	for try, waits := 1, 0; ; try++ {
		err := ctx.Err()
		if err == nil {
			err = writeFile(name, func(w io.Writer) error { return from.Backup(ctx, p, w) })
		}
		if errors.Is(err, errLeaderless) {
			waits++
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, core.ErrUnavailable) || try == gatherTries || waits == gatherWaits {
			return err
		}
	}
}

func writeFile(name string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}

// copyPart restores the backup of a partition into a folder of its own for a while, and copies what
// it has into db.
func copyPart(ctx context.Context, name, part string, db core.Engine, o GatherOptions) (got copying.Result, err error) {
	err = withBackup(part, []string{name}, o.Memory/2, func(s *core.Store) (err error) {
		got, err = copying.Copy(ctx, copying.Options{From: s, To: db, Own: OwnFolder, Step: o.Step})
		return err
	})
	return got, err
}

// withBackup restores a backup, and those that build on it, into a folder, calls fn with the store,
// and removes the folder.
func withBackup(dir string, names []string, memory int64, fn func(s *core.Store) error) (err error) {
	if err := core.RestoreFiles(dir, names...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := core.Open(dir, core.Options{Memory: memory})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return fn(s)
}
