package engine_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine"
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
		s, err := engine.Open(dir, engine.Options{NoBackground: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A second opener is told who holds the store, and readers keep a writer out without a wrong name.
func TestSecondOpener(t *testing.T) {
	dir := t.TempDir()
	s, err := engine.Open(dir, engine.Options{Owner: "the first"})
	if err != nil {
		t.Fatal(err)
	}
	who := fmt.Sprintf("locked by the first, process %d", os.Getpid())
	for _, o := range []engine.Options{{}, {ReadOnly: true}} {
		if _, err := engine.Open(dir, o); !errors.Is(err, engine.ErrLocked) || !strings.Contains(err.Error(), who) {
			t.Errorf("second open, read-only %v: %v, want %q", o.ReadOnly, err, who)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var readers []*engine.Store
	for range 2 {
		r, err := engine.Open(dir, engine.Options{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, r)
	}
	if _, err := engine.Open(dir, engine.Options{}); !errors.Is(err, engine.ErrLocked) || strings.Contains(err.Error(), "the first") {
		t.Errorf("open beside readers: %v, want no name of a writer that is gone", err)
	}
	for _, r := range readers {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	if s, err = engine.Open(dir, engine.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
