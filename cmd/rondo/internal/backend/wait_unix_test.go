//go:build unix

package backend

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/engine/core"
)

// TestSlowOpeningIsNoSilentServer: a command that took more than a second to open the database
// itself said that it waited for a server, where none was.
func TestSlowOpeningIsNoSilentServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, LogFolder), 0o700); err != nil {
		t.Fatal(err)
	}
	slow := filepath.Join(dir, databaseFile)
	if err := unix.Mkfifo(slow, 0o600); err != nil { // whoever opens it waits for the other end
		t.Fatal(err)
	}
	told, ended := make(chan string, 1), make(chan error, 1)
	target := Target{DB: dir, Notice: func(line string) { told <- line }}
	go func() {
		db, err := target.Open(t.Context(), core.Options{ReadOnly: true}, false)
		if err == nil {
			err = db.Close()
		}
		ended <- err
	}()
	select {
	case line := <-told:
		t.Errorf("told %q while it opened the database", line)
	case err := <-ended:
		t.Fatalf("it has not waited: %v", err)
	case <-time.After(2 * silentWait): // so long it reports nothing
	}
	other, err := os.OpenFile(slow, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a database was opened that is not there")
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}
