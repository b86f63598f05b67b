package detour_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/cluster/detour"
	"github.com/rondo-db/rondo/wal"
)

// A notice is a log that reports a line with some text.
type notice struct {
	text string
	once sync.Once
	is   chan struct{}
}

func (w *notice) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.text) {
		w.once.Do(func() { close(w.is) })
	}
	return len(b), nil
}

// TestRecordOfNewerVersion: what a newer version of rondo has spooled waits for that version. It
// was counted as refused, and removed. What stands before it is delivered.
func TestRecordOfNewerVersion(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, detour.Options{}, nil)
	add(t, b, 0, sample("p", 1000))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := wal.Open(filepath.Join(dir, "p0000"), wal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	newer := []byte{2, 'n', 'e', 'w'}
	_, err = l.Append(t.Context(), newer)
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}

	w := &notice{text: "written by a newer version of rondo", is: make(chan struct{})}
	b = open(t, dir, detour.Options{Logger: slog.New(slog.NewTextHandler(w, nil))}, nil)
	to := newLeader()
	b.taker.Engine = to
	b.lead(anyLeads)
	<-w.is
	add(t, b, 0, sample("p", 2000))
	st := b.Figures()
	if len(to.got["p"]) != 1 || st.Partitions != 1 || st.SetAside != 0 || len(st.Dropped) != 0 && st.Dropped[detour.Refused] != 0 {
		t.Errorf("delivered %v, and it has %+v: want one sample, and the rest kept", to.got, st)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = wal.Open(filepath.Join(dir, "p0000"), wal.Options{ReadOnly: true}); err != nil {
		t.Fatal(err)
	}
	kept := 0
	err = l.Replay(0, func(_ wal.Pos, rec []byte) error {
		if kept++; kept == 1 && len(rec) > 0 && rec[0] == 1 { // it was delivered
			kept--
		}
		if kept == 1 && string(rec) != string(newer) {
			t.Errorf("the record is %q now", rec)
		}
		return nil
	})
	if err := errors.Join(err, l.Close()); err != nil || kept != 2 {
		t.Errorf("%d records are kept, %v, want that of the newer version and the one behind it", kept, err)
	}
}

// TestLogOfNewerVersion: a spool with a segment of a newer version is not opened, and stays as it
// is. It was set aside as damaged.
func TestLogOfNewerVersion(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, detour.Options{}, nil)
	add(t, b, 3, sample("p", 1000))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, "p0003", "*.wal"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	content, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	content[8], content[124] = 3, content[124]^1
	if err := os.WriteFile(segments[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newBox(dir, detour.Options{}, nil); !errors.Is(err, wal.ErrNewer) || !strings.Contains(err.Error(), "start the newer version, or move the folder away") {
		t.Errorf("open: %v, want ErrNewer, and what to do", err)
	}
	if now, err := os.ReadFile(segments[0]); err != nil || string(now) != string(content) {
		t.Errorf("the segment is another one now, %v", err)
	}
}
