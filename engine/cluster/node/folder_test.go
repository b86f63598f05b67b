package node_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/cluster/node"
)

// A process that was killed while it noted its cluster has left a piece of the file. That the file
// is whole after a loss of power, internal/chaos looks: it was empty, and the node did not start.
func TestFolderBelongsToOneCluster(t *testing.T) {
	dir := t.TempDir()
	piece := filepath.Join(dir, "cluster.json.partial")
	if err := os.WriteFile(piece, []byte(`{"clus`), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := node.NewFolder(dir, node.FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := f.Belongs("one"); err != nil {
			t.Errorf("its own cluster: %v", err)
		}
	}
	if _, err := os.Stat(piece); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the piece is left: %v", err)
	}
	if err := f.Belongs("two"); !errors.Is(err, node.ErrOtherCluster) {
		t.Errorf("another cluster: %v", err)
	}
}
