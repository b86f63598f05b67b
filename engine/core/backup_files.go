package core

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
)

// A backupFile is a backup that is read.
type backupFile struct {
	name string // for errors; empty: the only one
	open func() (io.ReadCloser, error)
}

// oneBackup is a backup without a name.
func oneBackup(r io.Reader) []backupFile {
	return []backupFile{{open: func() (io.ReadCloser, error) { return io.NopCloser(r), nil }}}
}

// namedBackups are backups in files.
func namedBackups(names []string) []backupFile {
	var out []backupFile
	for _, name := range names {
		out = append(out, backupFile{name, func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return out
}

// use opens a backup and calls read with it. The error names the file.
func (f *backupFile) use(read func(*backupReader) error) error {
	r, err := f.open()
	if err != nil {
		return err // it names the file
	}
	defer func() { _ = r.Close() }() // read only
	b, err := newBackupReader(bufio.NewReaderSize(r, 1<<20))
	if err == nil {
		defer b.close()
		err = read(b)
	}
	if err != nil && f.name != "" {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return err
}

// readBackups reads a backup of everything and increments, each made since the one before it, and
// gives what they hold to a sink, the newest first. It looks at all heads before anything else,
// except that a backup alone is read once: it may be a stream.
func readBackups(ctx context.Context, files []backupFile, to backupSink) error {
	var heads []BackupHead // nil: not yet looked at
	if len(files) > 1 {
		var err error
		if heads, err = readHeads(files); err != nil {
			return err
		}
	}
	plan := new(backupPlan)
	for i := len(files) - 1; i >= 0; i-- {
		err := files[i].use(func(b *backupReader) error {
			if heads == nil {
				if err := b.head.first(); err != nil {
					return err
				}
			} else if b.head != heads[i] {
				return fmt.Errorf("it changed while it was read: %w", errBackup)
			}
			return b.parts(ctx, plan, to)
		})
		if err != nil {
			return err
		}
	}
	return plan.end()
}

// readHeads reads the heads of a backup and its increments, and checks that each was made since the
// one before it.
func readHeads(files []backupFile) ([]BackupHead, error) {
	heads := make([]BackupHead, len(files))
	for i := range files {
		err := files[i].use(func(b *backupReader) error {
			heads[i] = b.head
			if i == 0 {
				return b.head.first()
			}
			if err := b.head.follows(&heads[i-1]); err != nil {
				return fmt.Errorf("not a backup of what changed since %s: %w", files[i-1].name, err)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return heads, nil
}
