package core_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/wal"
)

// What can be read of a damaged log is kept, and the store goes on behind it; the damaged log is
// set aside.
func TestSalvageLog(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, l *lostStore)
		from   int64 // ticks that are there afterwards, at least
		to     int64 // at most
	}{
		{"flipped", func(t *testing.T, l *lostStore) {
			name := l.segments(t)[0]
			b, err := os.ReadFile(name)
			mustClose(t, err)
			b[len(bytes.TrimRight(b, "\x00"))*3/4] ^= 0x40
			mustClose(t, os.WriteFile(name, b, 0o600))
		}, 40, 69},
		{"folder gone", func(t *testing.T, l *lostStore) { mustClose(t, os.RemoveAll(filepath.Join(l.dir, "wal"))) }, 40, 40},
		{"mark gone", func(t *testing.T, l *lostStore) { mustClose(t, os.Remove(filepath.Join(l.dir, "wal", "mark"))) }, 70, 70},
		{"header damaged", func(t *testing.T, l *lostStore) {
			mustClose(t, os.WriteFile(l.segments(t)[0], []byte("rondowal"), 0o600))
		}, 40, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLostStore(t, false)
			if _, err := core.SalvageLog(t.Context(), l.dir, core.Options{}, true); !errors.Is(err, core.ErrWhole) {
				t.Fatalf("salvage of a whole log: %v, want ErrWhole", err)
			}
			c.damage(t, l)
			if s, err := core.Open(l.dir, core.Options{NoBackground: true}); err == nil {
				_ = s.Abandon()
				t.Fatal("the damaged store opened")
			}
			before := folderDigest(t, l.dir)
			would, err := core.SalvageLog(t.Context(), l.dir, core.Options{}, false)
			if err != nil || would.Aside != "" || would.Damage == nil {
				t.Fatalf("salvage that only tells: %+v, %v", would, err)
			}
			if after := folderDigest(t, l.dir); strings.Join(after, "\n") != strings.Join(before, "\n") {
				t.Errorf("it changed the folder:\n%v, was\n%v", after, before)
			}
			got, err := core.SalvageLog(t.Context(), l.dir, core.Options{}, true)
			if err != nil || got.Last != would.Last || got.Known < got.Last && c.to < 70 {
				t.Fatalf("salvage: %+v, %v, want what it told: %+v", got, err, would)
			}
			if c.name != "folder gone" {
				if _, err := os.Stat(got.Aside); err != nil {
					t.Errorf("the damaged log: %v", err)
				}
			}
			for range 2 {
				s := mustOpen(t, l.dir, core.Options{NoBackground: true})
				f := l.f.reopened(s)
				at, err := s.Last(f.refs[0])
				mustClose(t, err)
				if f.tick = at.Unix()/10 - programStart/10; f.tick < c.from || f.tick > c.to {
					t.Errorf("%d ticks are there, want %d to %d", f.tick, c.from, c.to)
				}
				f.verify()
				f.mustFeed(3)
				f.verify()
				l.f, c.from, c.to = f, f.tick, f.tick
				mustClose(t, s.Close())
			}
		})
	}
}

// A database that was written from records which cannot be read any more does not fit what is left
// of the log.
func TestSalvageLogRefused(t *testing.T) {
	l := newLostStore(t, true)
	mustClose(t, os.RemoveAll(filepath.Join(l.dir, "wal")))
	if got, err := core.SalvageLog(t.Context(), l.dir, core.Options{}, true); !errors.Is(err, wal.ErrHole) || !strings.Contains(err.Error(), "restore a backup") {
		t.Errorf("salvage: %+v, %v, want a refusal", got, err)
	}
}
