package transfer_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/transfer"
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
