package core_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestLockWhileOthersStart closes and opens a store while processes are started, which share
// the open files for the moment between fork and exec.
func TestLockWhileOthersStart(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes are started without a fork")
	}
	dir := t.TempDir()
	done := make(chan error)
	go func() {
		for range 40 {
			cmd := exec.Command(os.Args[0], "-test.run=^$")
			if err := cmd.Run(); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
		s, err := core.Open(dir, core.Options{NoBackground: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A second opener learns who holds the store, and readers keep a writer out without a wrong name.
func TestSecondOpener(t *testing.T) {
	dir := t.TempDir()
	s, err := core.Open(dir, core.Options{Owner: "the first"})
	if err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("locked by the first, process %d", os.Getpid())
	for _, o := range []core.Options{{}, {ReadOnly: true}} {
		if _, err := core.Open(dir, o); !errors.Is(err, core.ErrLocked) || !strings.Contains(err.Error(), who) {
			t.Errorf("second open, read-only %v: %v, want %q", o.ReadOnly, err, who)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var readers []*core.Store
	for range 2 {
		r, err := core.Open(dir, core.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	// readers leave no name in the file, but Linux shows their numbers
	who = "locked by a process that reads it"
	killed := "the first, process 1"
	if locks, e := os.ReadFile("/proc/locks"); e == nil && strings.Contains(string(locks), fmt.Sprintf(" %d ", os.Getpid())) {
		who = fmt.Sprintf("locked by process %d, which reads it", os.Getpid())
	} else {
		killed = "" // nothing shows that the name is of another time
	}
	for _, left := range []string{"", killed} {
		if err := os.WriteFile(filepath.Join(dir, "LOCK"), []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := core.Open(dir, core.Options{})
		if !errors.Is(err, core.ErrLocked) || strings.Contains(err.Error(), "the first") || !strings.Contains(err.Error(), who) {
			t.Errorf("open beside readers, where a writer has left %q: %v, want %q", left, err, who)
		}
	}
	for _, r := range readers {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if s, err = core.Open(dir, core.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
