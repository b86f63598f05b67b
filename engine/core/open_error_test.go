package core_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestOpenNamesTheWayOut: the error of a damaged or missing log was no ErrDamaged, and named no
// command that helps.
func TestOpenNamesTheWayOut(t *testing.T) {
	for _, tt := range []struct {
		name, help string
		harm       func(dir string) error
	}{
		{"the log is gone", "rondo wal salvage", func(dir string) error { return os.RemoveAll(filepath.Join(dir, "wal")) }},
		{"a bad block of the log", "rondo wal salvage", func(dir string) error {
			return flipByte(filepath.Join(dir, "wal", "00000000000000000001.wal"), 300)
		}},
		{"a bad database", "rondo check --repair", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "rondo.bolt"), bytes.Repeat([]byte("x"), 1<<16), 0o600)
		}},
	} {
		dir := t.TempDir()
		s := mustOpen(t, dir, core.Options{NoBackground: true})
		newFeeder(t, s, 20).mustFeed(3)
		mustClose(t, s.Abandon())
		if err := tt.harm(dir); err != nil {
			t.Fatal(err)
		}
		for _, o := range []core.Options{{}, {ReadOnly: true}} {
			s, err := core.Open(dir, o)
			if err == nil {
				_ = s.Close() // it should not have been opened
			}
			if !errors.Is(err, core.ErrDamaged) || !strings.Contains(err.Error(), tt.help) {
				t.Errorf("%s, read-only %v: %v", tt.name, o.ReadOnly, err)
			}
		}
	}
}

// flipByte changes one byte of a file.
func flipByte(name string, at int) error {
	b, err := os.ReadFile(name)
	if err == nil {
		b[at] ^= 0x55
		err = os.WriteFile(name, b, 0o600)
	}
	return err
}
