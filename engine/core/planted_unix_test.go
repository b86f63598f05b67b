//go:build unix

package core_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestPlantedLink puts a link in the place of each file of a store. What it led to was emptied
// (LOCK), or written.
func TestPlantedLink(t *testing.T) {
	for _, file := range []string{"LOCK", "rondo.bolt", "wal/lock", "wal/mark", "wal/*.wal"} {
		for kind, link := range map[string]func(from, to string) error{"symbolic link": os.Symlink, "second name": os.Link} {
			t.Run(file+" "+kind, func(t *testing.T) {
				dir := t.TempDir()
				s := mustOpen(t, dir, core.Options{NoBackground: true})
				newFeeder(t, s, 1).mustFeed(10)
				mustClose(t, s.Abandon())
				names, err := filepath.Glob(filepath.Join(dir, file))
				if err != nil || len(names) != 1 {
					t.Fatal(names, err)
				}
				name, victim := names[0], filepath.Join(t.TempDir(), "victim")
				if err := os.Rename(name, victim); err != nil {
					t.Fatal(err)
				}
				if file == "LOCK" || file == "wal/lock" {
					if err := os.WriteFile(victim, []byte("root:secret\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				before, err := os.ReadFile(victim)
				if err != nil {
					t.Fatal(err)
				}
				if err := link(victim, name); err != nil {
					t.Fatal(err)
				}
				s, err = core.Open(dir, core.Options{NoBackground: true})
				if err == nil {
					mustClose(t, s.Close())
				}
				want := name + ": "
				if file == "wal/*.wal" && kind == "symbolic link" { // the log takes only regular files for segments
					want, kind = dir, "the segment is not there"
				}
				if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), kind) {
					t.Errorf("open: %v, want a refusal with %q and %q", err, want, kind)
				}
				if after, err := os.ReadFile(victim); err != nil || string(after) != string(before) {
					t.Errorf("the file outside held %d bytes and now %d others, %v", len(before), len(after), err)
				}
			})
		}
	}
}

// TestLinkedFolder opens a store through a link to its folder, which is nothing to refuse.
func TestLinkedFolder(t *testing.T) {
	linked := filepath.Join(t.TempDir(), "linked")
	if err := os.Symlink(t.TempDir(), linked); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s := mustOpen(t, linked, core.Options{NoBackground: true})
		mustClose(t, s.Close())
	}
}
