package owner

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestFoldersAreDurable: the folder of all replicas of a node was made without a sync of the folder
// above it, and a loss of power took it away. Its replicas were lost, and the logs had been
// truncated, because the replicas had checkpoints.
func TestFoldersAreDurable(t *testing.T) {
	dir, real := t.TempDir(), syncFolder
	defer func() { syncFolder = real }()
	var synced []string
	fails := errors.New("the disk fails")
	syncFolder = func(name string) error {
		if filepath.Base(name) == "bad" {
			return fails
		}
		synced = append(synced, name)
		return real(name)
	}
	if err := MkdirAll(filepath.Join(dir, "a", "b", "c"), 0o750); err != nil {
		t.Fatal(err)
	}
	if want := []string{dir, filepath.Join(dir, "a"), filepath.Join(dir, "a", "b")}; !slices.Equal(synced, want) {
		t.Errorf("synced %q, want %q", synced, want)
	}
	if err := MkdirAll(filepath.Join(dir, "bad", "c"), 0o750); !errors.Is(err, fails) {
		t.Errorf("a folder that cannot be synced: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "a", "b", "c")); err != nil || !info.IsDir() {
		t.Errorf("%v, %v", info, err)
	}
}
