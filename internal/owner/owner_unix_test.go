//go:build unix

package owner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

const secret = "root:secret\n"

// A link in the folder made rondo empty, or make, the file that it leads to.
func TestOpenFileFollowsNoLink(t *testing.T) {
	const write = os.O_RDWR | os.O_CREATE
	for _, c := range []struct {
		name  string
		plant func(victim, name string) error
		want  error
	}{
		{"symbolic link", os.Symlink, errLink},
		{"symbolic link to nothing", func(victim, name string) error { return os.Symlink(victim+"-absent", name) }, errLink},
		{"second name", os.Link, errNames},
		{"pipe", func(_, name string) error { return syscall.Mkfifo(name, 0o600) }, errRegular},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, mine := t.TempDir(), t.TempDir()
			victim, name := filepath.Join(mine, "victim"), filepath.Join(dir, "LOCK")
			if err := os.WriteFile(victim, []byte(secret), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := c.plant(victim, name); err != nil {
				t.Fatal(err)
			}
			for _, flag := range []int{os.O_RDWR, write, write | os.O_TRUNC} {
				f, err := OpenFile(name, flag, 0o600)
				if err == nil {
					_ = f.Close() // it should not be open
				}
				if err == nil || !strings.Contains(err.Error(), name+": "+c.want.Error()) {
					t.Errorf("open with %#x: %v, want %q", flag, err, c.want)
				}
			}
			if b, err := os.ReadFile(victim); err != nil || string(b) != secret {
				t.Errorf("the file outside holds %q, %v", b, err)
			}
			if entries, err := os.ReadDir(mine); err != nil || len(entries) != 1 {
				t.Errorf("outside are now %v, %v", entries, err)
			}
		})
	}
}

// What is no attack goes on working: the folder may be a link, and a file that is only read may be
// one.
func TestOpenFileThroughLinkedFolder(t *testing.T) {
	dir, linked := t.TempDir(), filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(dir, linked); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(linked, "inside", "file")
	if err := MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there, and emptied
		f, err := OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil || info.Size() != 0 || info.Mode() != 0o600 {
			t.Errorf("the file has %v", info)
		}
		if _, err := f.WriteString(secret); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); !os.IsExist(err) {
		t.Errorf("made again: %v", err)
	}
	if err := Mkdir(filepath.Dir(name)+"/", 0o700); !os.IsExist(err) {
		t.Errorf("folder made again: %v", err)
	}
	if err := os.Symlink(name, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(filepath.Join(dir, "link"), os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
