package owner

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// nobody owns the folders that root works in here.
const nobody = 65534

// How often root tries. When the race could be won, it was after some hundred files, and some
// thousand folders.
const (
	files   = 2000
	folders = 6000
)

// swapped makes a folder of nobody's and one of root's, and swaps the first for a link to the
// second all the time.
func swapped(t *testing.T) (theirs, link, victim string) {
	t.Helper()
	if os.Geteuid() != 0 {
		rrdtooltest.Lacks(t, "only root gives files away")
	}
	dir := t.TempDir()
	above := filepath.Join(dir, "above")
	theirs, link, victim = filepath.Join(above, "folder"), filepath.Join(above, "link"), filepath.Join(dir, "victim")
	for _, name := range []string{above, theirs, victim} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(victim, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{above, theirs} {
		if err := os.Chown(name, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, theirs, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				<-stop
				done <- err
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(stop)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return theirs, link, victim
}

// A file that root made in a folder of root's was given to the owner of another folder, which had
// its name by then.
func TestFileGoesToTheFolderItIsMadeIn(t *testing.T) {
	theirs, _, victim := swapped(t)
	given := 0
	for i := range files {
		name := fmt.Sprint(i)
		f, err := OpenFile(filepath.Join(theirs, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		got := statOf(t, f).Uid
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		want := uint32(nobody)
		inside := filepath.Join(victim, name)
		if _, err := os.Lstat(inside); err == nil {
			want = 0
			if err := os.Remove(inside); err != nil {
				t.Fatal(err)
			}
		} else {
			given++
		}
		if got != want {
			t.Fatalf("file %d belongs to %d, the owner of its folder is %d", i, got, want)
		}
	}
	if given == 0 || given == files {
		t.Errorf("%d of %d files were made in nobody's folder: the folders were not swapped", given, files)
	}
}

// A folder of root's that was there before was given away together with all that is in it.
func TestFolderOfRootStays(t *testing.T) {
	theirs, link, victim := swapped(t)
	mine := filepath.Join(victim, "wal")
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mine, "secret"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := os.Open(mine)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }() // nothing was written
	made := 0
	for i := range folders {
		if Mkdir(filepath.Join(theirs, "wal"), 0o700) == nil {
			made++
		}
		if st := statOf(t, d); st.Uid != 0 {
			t.Fatalf("after %d tries root's folder belongs to %d", i+1, st.Uid)
		}
		_ = os.Remove(filepath.Join(theirs, "wal")) // nobody's own; root's is not empty
		_ = os.Remove(filepath.Join(link, "wal"))
	}
	if made == 0 || made == folders {
		t.Errorf("%d of %d folders were made: the folders were not swapped", made, folders)
	}
}

func statOf(t *testing.T, f *os.File) *syscall.Stat_t {
	t.Helper()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t)
}
