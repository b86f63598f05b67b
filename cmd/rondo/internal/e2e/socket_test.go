package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestSocketReplacedByFile: a command says at once that something else has the name of the server's
// socket.
func TestSocketReplacedByFile(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	rondotest.Serve(t, db)
	name := filepath.Join(db, "rondo.sock")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := complain(t, dir, db, "list"); !strings.Contains(got, "rondo.sock is no socket") {
		t.Errorf("list says %q", got)
	}
}
