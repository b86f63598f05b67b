package backups_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

// A grower makes backups of a store, each an hour after the one before and with one series more.
type grower struct {
	*backups.Keeper
	t     *testing.T
	store *core.Store
	now   time.Time
	n     int
}

func newGrower(t *testing.T, whole time.Duration, keep int) *grower {
	s := enginetest.Open(t)
	g := &grower{t: t, store: s, now: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}
	g.Keeper = &backups.Keeper{Source: s, Options: backups.Options{Dir: t.TempDir(), Every: time.Hour, Whole: whole, Keep: keep}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return g.now }}
	return g
}

// make makes a series and then a backup, and compares the names in the folder.
func (g *grower) make(what string, want ...string) {
	g.t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:5"})
	if err != nil {
		g.t.Fatal(err)
	}
	if _, err := g.store.Create(g.t.Context(), core.Spec{Path: fmt.Sprint(g.n), Definition: d}); err != nil {
		g.t.Fatal(err)
	}
	g.n++
	if err := g.Make(g.t.Context()); err != nil {
		g.t.Errorf("%s: %v", what, err)
	}
	if got := names(g.t, g.Dir); !slices.Equal(got, want) {
		g.t.Errorf("%s: the folder holds %q, want %q", what, got, want)
	}
	g.now = g.now.Add(time.Hour)
}

// restored compares what backups of the folder hold with the store.
func (g *grower) restored(files ...string) {
	g.t.Helper()
	for i := range files {
		files[i] = filepath.Join(g.Dir, files[i])
	}
	to := filepath.Join(g.t.TempDir(), "db")
	if err := core.RestoreFiles(to, files...); err != nil {
		g.t.Fatal(err)
	}
	if got := enginetest.OpenDir(g.t, to, core.Options{}).Stats().Series; got != g.store.Stats().Series {
		g.t.Errorf("%d series, want %d", got, g.store.Stats().Series)
	}
}

// Names of backups that a grower makes at the hours 0 to 6.
var wholes, parts = namesOf(".zst"), namesOf(".since.zst")

func namesOf(end string) (out [7]string) {
	for i := range out {
		out[i] = fmt.Sprintf("rondo-20261122T%02d0000Z%s", i, end)
	}
	return out
}

// TestWholeBackupsAndThoseBetween: backups between two whole ones hold what has changed, restore
// with those that they build on, and go together with them.
func TestWholeBackupsAndThoseBetween(t *testing.T) {
	g := newGrower(t, 3*time.Hour, 1)
	g.make("first", wholes[0])
	g.make("second", wholes[0], parts[1])
	g.restored(wholes[0], parts[1])
	g.make("third", wholes[0], parts[1], parts[2])
	g.restored(wholes[0], parts[1], parts[2])
	g.make("a whole one is due", wholes[3])
	g.restored(wholes[3])
	g.make("on the new one", wholes[3], parts[4])
	g.restored(wholes[3], parts[4])
	g.Keep = 2
	g.make("two", wholes[3], parts[4], parts[5])
	g.make("two are kept", wholes[3], parts[4], parts[5], wholes[6])
	if st := g.State(); st.Made != 7 || st.Failed != 0 {
		t.Errorf("%+v", st)
	}
}

// TestNoBackupBuildsOnOnesThatAreBad: where those before are damaged, missing or of another
// database, or the clock was set back, a whole backup is made.
func TestNoBackupBuildsOnOnesThatAreBad(t *testing.T) {
	for what, hurt := range map[string]func(*grower){
		"the whole one is cut": func(g *grower) {
			if err := os.Truncate(filepath.Join(g.Dir, wholes[0]), 300); err != nil {
				t.Fatal(err)
			}
		},
		"the last is empty": func(g *grower) {
			if err := os.Truncate(filepath.Join(g.Dir, parts[2]), 0); err != nil {
				t.Fatal(err)
			}
		},
		"one between is missing": func(g *grower) {
			if err := os.Remove(filepath.Join(g.Dir, parts[1])); err != nil {
				t.Fatal(err)
			}
		},
		"another database": func(g *grower) {
			g.store = enginetest.Open(t)
			g.Source = g.store
		},
		"the clock was set back": func(g *grower) { g.now = g.now.Add(-90 * time.Minute) },
	} {
		g := newGrower(t, 24*time.Hour, 9)
		g.make(what, wholes[0])
		g.make(what, wholes[0], parts[1])
		g.make(what, wholes[0], parts[1], parts[2])
		before := names(t, g.Dir)
		hurt(g)
		if err := g.Make(t.Context()); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		var made []string
		for _, name := range names(t, g.Dir) {
			if !slices.Contains(before, name) {
				made = append(made, name)
			}
		}
		want := "rondo-" + g.now.Format("20060102T150405Z") + ".zst"
		if !slices.Equal(made, []string{want}) {
			t.Errorf("%s: %q was made, want %q", what, made, want)
			continue
		}
		g.restored(want)
	}
}
