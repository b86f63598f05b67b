package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// SystemConfig is the configuration file of a machine whose users have none of their own.
const SystemConfig = "/etc/rondo/rondo.yaml"

// SyncModes are the names of the sync modes, by mode.
var SyncModes = []string{wal.SyncAlways: "always", wal.SyncInterval: "interval", wal.SyncNone: "none"}

// ParseSync returns the sync mode of a name.
func ParseSync(name string) (wal.Sync, error) {
	mode := slices.Index(SyncModes, name)
	if mode < 0 {
		return 0, fmt.Errorf("want one of %s", strings.Join(SyncModes, ", "))
	}
	return wal.Sync(mode), nil
}

// The parts of a database's folder.
const (
	databaseFile = "rondo.bolt"
	LogFolder    = "wal"
	// ReplicasFolder is in the folder of a node of a cluster, and neither of the others is.
	ReplicasFolder = "replicas"
	// SpoolFolder is beside it, and has what waits for leaders.
	SpoolFolder = "spool"
)

// IsNode says whether a folder belongs to a node of a cluster.
func IsNode(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, ReplicasFolder))
	return err == nil
}

// IsDatabase says whether a folder holds a database of one machine, or a part of one.
func IsDatabase(folder string) bool { return existsIn(folder) && !IsNode(folder) }

// A Target says which database or server a command works on.
type Target struct {
	DB     string // the database's folder
	Daemon string // the address of a server to use in its place; empty: none
	// Credentials say who the command is to a server at an address of HTTP.
	Credentials Credentials

	Sync   string // always, interval or none, where no server decides; empty: always
	Stays  bool   // the command runs for long, and its store writes checkpoints by itself
	Named  bool   // a flag, the environment or the configuration file names the database
	Strict bool   // no database is made unless it is named: rondo runs as rrdtool, or below a module
	Err    error  // of the configuration file: Open and the others return it
	// Notice, if not nil, gets in a line what a command waits for that waits for long. It may be
	// called from another goroutine.
	Notice func(line string)
}

// exists says whether the folder holds a database, or a part of one, or cannot be looked into. To
// open any other folder would make a database there.
func (t Target) exists() bool { return existsIn(t.DB) }

func existsIn(folder string) bool {
	for _, name := range []string{databaseFile, LogFolder, ReplicasFolder} {
		if _, err := os.Stat(filepath.Join(folder, name)); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return core.HalfRestored(folder) != nil
}

// Missing returns the error that there is no database in the folder of t. It names one that is in
// the folder's own rondo.db.
func (t Target) Missing() error {
	folder := t.Folder()
	hint := "--db, or RONDO_DB, says where it is"
	if inside := filepath.Join(folder, DefaultFolder); existsIn(inside) {
		hint = "there is one in " + inside
	}
	return fmt.Errorf("there is no database in %s (%s)", folder, hint)
}

// Here returns an error unless the folder of t holds a database, or a part of one.
func (t Target) Here() error {
	if t.Err != nil {
		return t.Err
	}
	if err := t.checkFolder(); err != nil {
		return err
	}
	if !t.exists() {
		return t.Missing()
	}
	return nil
}

// DefaultFolder is the database's folder if the user names none.
const DefaultFolder = "rondo.db"

// checkFolder returns an error if the database's folder is a file.
func (t Target) checkFolder() error {
	folder := t.Folder()
	info, err := os.Stat(folder)
	switch {
	case err != nil || info.IsDir():
		return nil
	case existsIn(filepath.Dir(folder)):
		return fmt.Errorf("%s is a file of the database in %s: --db, or RONDO_DB, names that folder", folder, filepath.Dir(folder))
	}
	return fmt.Errorf("%s is a file: --db, or RONDO_DB, names the folder of a database", folder)
}

// Folder returns the absolute path of the database's folder.
func (t Target) Folder() string {
	if abs, err := filepath.Abs(t.DB); err == nil {
		return abs
	}
	return t.DB
}

// Makeable returns an error if the folder of t cannot be made because the one above it is not there
// either. Only the last part of its name is made: the rest may be mistyped, or a disk that is not
// mounted yet.
func (t Target) Makeable() error {
	folder := t.Folder()
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	above := filepath.Dir(folder)
	if _, err := os.Stat(above); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no database can be made in %s: the folder %s is not there", folder, above)
	}
	return nil
}

// makes returns an error if a command must not make the database because nobody has named it. A
// program that uses rondo as rrdtool would leave a database in each folder that it runs in. adopts
// says that the command means a file which the new database would take in.
func (t Target) makes(adopts bool) error {
	switch {
	case t.Named:
		return nil
	case t.Strict:
		return fmt.Errorf("there is no database in %s, and none is made where nobody asked for it: say where it is to be, by RONDO_DB or by db: in %s", t.Folder(), SystemConfig)
	case adopts:
		return fmt.Errorf("there is no database in %s: rondo create, restore, import and serve make one, and this command does if --db or RONDO_DB names it", t.Folder())
	}
	return nil
}

// OnlyHere returns an error if t is a server that is asked by its address. what says what works on
// the files of a database.
func (t Target) OnlyHere(what string) error {
	if t.Err == nil && t.Daemon != "" && !t.Named {
		return fmt.Errorf("%s works on the files of a database, not through --daemon (or RONDO_DAEMON): run it on the server's machine, with --db FOLDER", what)
	}
	return t.Err
}
