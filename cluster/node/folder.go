package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/owner"
	"github.com/rondo-db/rondo/wal"
)

// A Folder keeps the replicas of a node, each a database in a folder of its own, p and its number.
type Folder struct {
	dir string
	o   FolderOptions
}

// FolderOptions say how a Folder opens its databases. All functions are needed.
type FolderOptions struct {
	// Store returns the options of a database that is opened, but for those below. It is called
	// when the node knows the map: how many partitions share what the machine has.
	Store func() core.Options
	// OpenLog and Follow open the log of a partition: see core.Options.
	OpenLog func(partition int, after wal.Pos, onDurable core.OnDurable) (core.Log, error)
	Follow  func(partition int, after wal.Pos) (core.Source, error)
}

// Folders of a replica that is replaced: the new one, and the former one.
const (
	suffixNew = ".new"
	suffixOld = ".old"
)

// NewFolder returns the folder dir, which it makes if it is missing.
func NewFolder(dir string, o FolderOptions) (*Folder, error) {
	err := owner.MkdirAll(dir, 0o750)
	if err == nil {
		// The folder may be there already. The older program that made it did not sync its name.
		err = owner.SyncFolder(filepath.Dir(filepath.Clean(dir)))
	}
	if err != nil {
		return nil, fmt.Errorf("folder of the replicas: %w", err)
	}
	return &Folder{dir, o}, nil
}

func (f *Folder) path(partition int) string {
	return filepath.Join(f.dir, "p"+strconv.Itoa(partition))
}

// List is as Disk has it.
func (f *Folder) List() ([]int, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "p")
		if p, err := strconv.Atoi(number); ok && err == nil && p >= 0 && e.IsDir() {
			all = append(all, p)
		}
	}
	return all, nil
}

// Open is as Disk has it.
func (f *Folder) Open(_ context.Context, partition int) (Replica, error) {
	o := f.o.Store()
	o.OpenLog = func(after wal.Pos, onDurable core.OnDurable) (core.Log, error) {
		return f.o.OpenLog(partition, after, onDurable)
	}
	o.Follow = func(after wal.Pos) (core.Source, error) { return f.o.Follow(partition, after) }
	if o.Logger != nil {
		o.Logger = o.Logger.With("partition", partition)
	}
	s, err := core.Open(f.path(partition), o)
	switch {
	case err == nil:
		return &database{s}, nil
	case errors.Is(err, core.ErrDamaged), errors.Is(err, core.ErrOtherLog):
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	case errors.Is(err, core.ErrVersion) && !newer(err):
		return nil, fmt.Errorf("%w: run that version on this node, or end the node and remove the folder, and the replica is copied from another node", err)
	}
	return nil, err
}

// Restore is as Disk has it. The former replica stays until the new one is whole. The name of the
// new one is durable when Restore returns: others then truncate the log that it was made of.
func (f *Folder) Restore(_ context.Context, partition int, backup io.Reader) error {
	path := f.path(partition)
	if err := errors.Join(os.RemoveAll(path+suffixNew), os.RemoveAll(path+suffixOld)); err != nil {
		return err
	}
	if err := core.RestoreReplica(backup, path+suffixNew); err != nil {
		return errors.Join(err, os.RemoveAll(path+suffixNew))
	}
	if err := os.Rename(path, path+suffixOld); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(path+suffixNew, path); err != nil {
		return err
	}
	if err := owner.SyncFolder(f.dir); err != nil {
		return err
	}
	return os.RemoveAll(path + suffixOld)
}

// Remove is as Disk has it.
func (f *Folder) Remove(partition int) error {
	path := f.path(partition)
	return errors.Join(os.RemoveAll(path), os.RemoveAll(path+suffixNew), os.RemoveAll(path+suffixOld))
}

// A database is a Replica that is a store of the engine.
type database struct{ *core.Store }

// Engine is as Replica has it.
func (d *database) Engine() core.Engine { return d.Store }

// Standing is as Replica has it.
func (d *database) Standing() Standing {
	st, _ := d.Store.Standing()
	return Standing{
		Leads: st.Role == core.Leader, Halted: st.Role == core.Halted, Err: st.Err,
		Outdated: st.Role == core.Halted && newer(st.Err),
		Position: st.Position, Newest: st.Newest, Checkpoint: d.Checkpointed(), Log: st.Log, Damaged: st.Damaged,
	}
}

// newer reports whether err says that only a newer program can read what comes next.
func newer(err error) bool { return errors.Is(err, core.ErrNewer) || errors.Is(err, wal.ErrNewer) }
