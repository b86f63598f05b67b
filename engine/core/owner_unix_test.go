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

// TestRootLeavesFilesToTheOwner does what root may do beside a stopped server, whose user must be able to use all of
// the folder afterwards. (Whoever is not root makes files of its own, in folders of its own.)
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

// TestRootGivesNothingAway puts links into a folder before root opens a database there: what they lead to stays root's.
func TestRootGivesNothingAway(t *testing.T) {
	dir, mine := t.TempDir(), t.TempDir()
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 12345, 12346); err != nil {
			t.Fatal(err)
		}
	}
	hard, soft := filepath.Join(mine, "hard"), filepath.Join(mine, "soft")
	if err := os.WriteFile(hard, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(hard, filepath.Join(dir, "LOCK")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(soft, filepath.Join(dir, "wal", "LOCK")); err != nil {
		t.Fatal(err)
	}
	s, err := core.Open(dir, core.Options{})
	if err == nil {
		err = s.Close()
	}
	t.Log(err) // it may refuse them
	for _, name := range []string{hard, soft} {
		if _, err := os.Lstat(name); err != nil {
			continue
		}
		if got := ownerOf(t, name); got != ownerOf(t, mine) {
			t.Errorf("%s was given to %v", name, got)
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
