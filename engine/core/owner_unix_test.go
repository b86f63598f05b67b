//go:build unix

package core_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestRootLeavesFilesToTheOwner does what root may do beside a stopped server, whose user must be
// able to use all of the folder afterwards. (Whoever is not root makes files of its own, in folders
// of its own.)
func TestRootLeavesFilesToTheOwner(t *testing.T) {
	above := t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(above, 12345, 12346); err != nil {
			t.Fatal(err)
		}
	}
	want := ownerOf(t, above)
	dir := filepath.Join(above, "parent", "rondo.db")
	s, err := core.Open(dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var backup bytes.Buffer
	if err := s.Backup(t.Context(), &backup); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := core.Restore(&backup, filepath.Join(above, "restored")); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(above, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		files++
		if got := ownerOf(t, name); got != want {
			t.Errorf("%s belongs to %v, its folder's owner is %v", name, got, want)
		}
		return nil
	})
	if err != nil || files < 8 {
		t.Errorf("%d files and folders, %v", files, err)
	}
}

// TestRootGivesNothingAway puts links into a folder before root opens a database there: what they
// lead to stays root's, and is not made.
func TestRootGivesNothingAway(t *testing.T) {
	for _, file := range []string{"LOCK", "wal/lock"} {
		dir, mine := t.TempDir(), t.TempDir()
		log := filepath.Join(dir, "wal")
		if err := os.Mkdir(log, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 {
			for _, name := range []string{dir, log} {
				if err := os.Chown(name, 12345, 12346); err != nil {
					t.Fatal(err)
				}
			}
		}
		hard, soft, name := filepath.Join(mine, "hard"), filepath.Join(mine, "soft"), filepath.Join(dir, file)
		if err := os.WriteFile(hard, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, link := range []func() error{func() error { return os.Link(hard, name) }, func() error { return os.Symlink(soft, name) }} {
			if err := link(); err != nil {
				t.Fatal(err)
			}
			if s, err := core.Open(dir, core.Options{}); err == nil {
				t.Errorf("%s is a link and was opened", file)
				mustClose(t, s.Close())
			}
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		if got := ownerOf(t, hard); got != ownerOf(t, mine) {
			t.Errorf("%s: the file was given to %v", file, got)
		}
		if _, err := os.Lstat(soft); err == nil {
			t.Errorf("%s: a file was made behind the link", file)
		}
	}
}

func ownerOf(t *testing.T, name string) [2]int {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	return [2]int{int(st.Uid), int(st.Gid)}
}
