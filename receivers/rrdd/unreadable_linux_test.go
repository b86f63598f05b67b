package rrdd

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
)

// TestUnreadable: a file that may not be read is counted, at ever fewer turns, and read when it may
// be.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "p")
	if err := os.WriteFile(name, encode(t, gauges(0, 1, "a")), 0); err != nil {
		t.Fatal(err)
	}
	rec := new(receivertest.Recorder)
	s, err := newServer(receivers.Config{Address: dir}, rec)
	if err != nil {
		t.Fatal(err)
	}
	s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
	defer s.queue.Stop()
	if os.Getuid() == 0 { // who may read every file: this thread is somebody else meanwhile
		for _, d := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if _, err := unix.SetfsuidRetUid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := unix.SetfsuidRetUid(0); err != nil {
				panic(err) // the thread is of no use any more
			}
		}()
		if f, err := openFolder(dir); err != nil {
			t.Skip("the folder of the test is not open to others: ", err)
		} else {
			_ = f.Close() // read
		}
	}
	for range 9 {
		s.turn(t.Context())
	}
	if n := s.Stats().Dropped[receivers.Failed]; n != 5 { // 1, 2, 3, 5, 9
		t.Errorf("%d failures in 9 turns, want 5: %+v", n, s.Stats())
	}
	if err := fchmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	s.turn(t.Context())
	s.queue.Flush()
	if st := s.Stats(); st.Samples != 1 || st.Dropped[receivers.Failed] != 5 {
		t.Errorf("%+v, want a sample", st)
	}
}

// fchmod changes the mode of a file as its owner.
func fchmod(name string, mode os.FileMode) error {
	done := make(chan error)
	go func() { done <- os.Chmod(name, mode) }() // in another thread
	return <-done
}
