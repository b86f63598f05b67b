package mono

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// A logged is what a receiver logs.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// readFiles has a receiver read files, and nothing else, to their ends.
func readFiles(t *testing.T, rec *receivertest.Recorder, files ...string) (*receivertest.Running, *logged) {
	t.Helper()
	l := new(logged)
	r := receivertest.Start(t, receivertest.Case{Protocol: Protocol}, rec, func(c *receivers.Config) {
		c.Address, c.MaxFuture, c.Logger = "", -1, slog.New(slog.NewTextHandler(l, nil))
		c.Options = map[string][]string{flagFile.Name: files}
	})
	if a := r.Addr(); a != nil {
		t.Errorf("it listens at %v", a)
	}
	eventually(t, "the files are read", func() bool { return strings.Count(l.String(), "file read") == len(files) })
	return r, l
}

func write(t testing.TB, name string, b []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFile: a recorded file becomes series of its name.
func TestFile(t *testing.T) {
	rec := new(receivertest.Recorder)
	r, _ := readFiles(t, rec, filepath.Join(captures, "agent-file.bin"), write(t, "word.sizes.x", capture(t, "word-sizes.bin")))
	r.Stop()
	want := wantSamples(t, "agent-file.bin", "agent-file")
	maps.Copy(want, wantSamples(t, "word-sizes.bin", "word.sizes"))
	if diff := cmp.Diff(want, byPath(rec.Samples())); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
	if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} || st.Series != 0 || st.Bytes != 498+81 {
		t.Errorf("stats %+v, want no drop, and no series held", st)
	}
}

// TestFileCutOff: of a file that ends anywhere, as when the agent was killed, every whole sample
// counts.
func TestFileCutOff(t *testing.T) {
	b := capture(t, "agent-file.bin")
	var files []string
	dir := t.TempDir()
	for n := 0; n <= len(b); n += 7 {
		name := filepath.Join(dir, fmt.Sprintf("%d.bin", n))
		if err := os.WriteFile(name, b[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	rec := new(receivertest.Recorder)
	r, _ := readFiles(t, rec, files...)
	r.Stop()
	got := byPath(rec.Samples())
	truncated := uint64(0)
	for n := 0; n <= len(b); n += 7 {
		whole, err := read(nil, b[:n])
		if err != nil {
			truncated++
		}
		samples := 0
		for _, e := range whole.events {
			samples += len(e.Values)
		}
		for path, s := range got {
			if strings.HasPrefix(path, fmt.Sprintf("mono/%d/", n)) {
				samples -= len(s)
			}
		}
		if samples != 0 {
			t.Errorf("%d bytes: %d samples are missing", n, samples)
		}
	}
	if st := r.Stats(); truncated == 0 || st.Dropped[receivers.Truncated] != truncated {
		t.Errorf("stats %+v, want %d truncated", st, truncated)
	}
}

// TestFileWaits: a file of any length is stored whole, however slow the store is, and can be called
// off.
func TestFileWaits(t *testing.T) {
	b := bytes.Clone(suite(t).Opening)
	const most = 100_000
	for n := range most {
		b = append(b, message(n)...)
	}
	name := write(t, "long", b)
	rec := new(receivertest.Recorder)
	release := rec.Stall()
	defer release()
	r := receivertest.Start(t, receivertest.Case{Protocol: Protocol}, rec, func(c *receivers.Config) {
		c.Address, c.MaxFuture, c.InFlight = "", -1, 1
		c.Options = map[string][]string{flagFile.Name: {name}}
	})
	r.Until("the sink is busy", func(s receivertest.State) bool { return s.Waiting > 0 })
	release()
	r.UntilSamples(most)
	r.Stop()
	for n, s := range rec.Samples() {
		if s.At != rra.Seconds(receivertest.Epoch+int64(n)) {
			t.Fatalf("sample %d is at %v", n, s.At.Std())
		}
	}
	if st := r.Stats(); st.Dropped != [receivers.NumReasons]uint64{} {
		t.Errorf("stats %+v, want no drop", st)
	}

	stalled := new(receivertest.Recorder)
	defer stalled.Stall()()
	r = receivertest.Start(t, receivertest.Case{Protocol: Protocol}, stalled, func(c *receivers.Config) {
		c.Address, c.MaxFuture, c.InFlight, c.Grace = "", -1, 1, 1
		c.Options = map[string][]string{flagFile.Name: {name}}
	})
	r.Until("the sink is busy", func(s receivertest.State) bool { return s.Waiting > 0 })
	r.Stop()
}

// TestFileErrors: a file that cannot be read is an error at the start.
func TestFileErrors(t *testing.T) {
	for _, name := range []string{"nosuch", t.TempDir(), os.DevNull} {
		r, err := newServer(receivers.Config{Address: "127.0.0.1:0", Options: map[string][]string{flagFile.Name: {filepath.Join(captures, "agent-file.bin"), name}}}, nil)
		if err == nil {
			_ = r.Close() // the test has failed
		}
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "--mono-file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
