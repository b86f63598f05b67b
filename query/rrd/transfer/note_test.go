package transfer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/transfer"
)

func TestIsNote(t *testing.T) {
	for text, want := range map[string]bool{transfer.Note: true, "": false, transfer.Note + "x": false, strings.ToUpper(transfer.Note): false} {
		name := filepath.Join(t.TempDir(), "a.rrd")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := transfer.IsNote(name, info); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if info, err := os.Stat(t.TempDir()); err != nil || transfer.IsNote("", info) {
		t.Errorf("a folder is a note: %v", err)
	}
}

// TestSeesRemoved: a note that was there and has been removed counts as seen, so that the series is
// made anew; one that never was there, or was hidden, does not.
func TestSeesRemoved(t *testing.T) {
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "web"), 0o777); err != nil {
		t.Fatal(err)
	}
	see := func(what string, want bool) {
		t.Helper()
		if got := transfer.Sees(base, "web/a.rrd"); got != want {
			t.Errorf("%s: Sees says %v", what, got)
		}
	}
	see("nothing", false)
	transfer.Show(base, "web/a.rrd")
	see("a note", true)
	if err := os.RemoveAll(filepath.Join(base, "web")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(base, "web"), 0o777); err != nil {
		t.Fatal(err)
	}
	see("a note that was removed with its folder", true)
	transfer.Show(base, "web/a.rrd")
	transfer.Hide(base, "web/a.rrd")
	see("a note that was hidden", false)
}
