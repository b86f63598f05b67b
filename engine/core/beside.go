package core

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/internal/owner"
)

// besideFolders are the folders in the database's folder whose files backups hold.
var besideFolders = []string{"dashboards", "rules"}

const (
	maxBesideName = 300
	maxBeside     = 4 << 20 // bytes of a text
)

// backupBeside writes the texts of Options.Beside.
func (s *Store) backupBeside(ctx context.Context, b *backupWriter) error {
	if s.options.Beside == nil {
		return nil
	}
	last := ""
	return s.options.Beside(func(name string, content []byte) error {
		if !isBeside(name) || name <= last || len(content) > maxBeside {
			return invalid("a text of %d bytes with the name %q behind %q cannot be in a backup", len(content), name, last)
		}
		last = name
		b.buf = append(b.buf[:0], backupBeside)
		for _, p := range []string{name, string(content)} {
			b.buf = append(binary.AppendUvarint(b.buf, uint64(len(p))), p...)
		}
		return errors.Join(ctx.Err(), b.write(b.buf))
	})
}

// isBeside reports whether a name is a file's, directly in one of besideFolders.
func isBeside(name string) bool {
	folder, file, _ := strings.Cut(name, "/")
	return slices.Contains(besideFolders, folder) && len(name) <= maxBesideName &&
		file != "" && file[0] != '.' && !strings.ContainsAny(file, "/\\:\x00")
}

// beside reads a text. Texts stand before the groups, in the order of their names.
func (b *backupReader) beside(plan *backupPlan, to backupSink) error {
	name, err := b.string(maxBesideName)
	if err != nil {
		return err
	}
	content, err := b.string(maxBeside)
	if err != nil {
		return err
	}
	if !isBeside(string(name)) || string(name) <= plan.beside || plan.began || plan.log != plan.head.to {
		return fmt.Errorf("a text with the name %.80q where it does not belong: %w", name, errBackup)
	}
	plan.beside = string(name)
	return to.beside(plan.beside, content, plan.newest)
}

// beside writes a text into the folder that is restored.
func (re *restorer) beside(name string, content []byte, keep bool) error {
	if !keep || re.replica {
		return nil
	}
	name = filepath.Join(re.dir, filepath.FromSlash(name))
	if err := owner.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := owner.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close(), owner.SyncFolder(filepath.Dir(name)))
}
