package clustered

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cluster/coord"
	"github.com/rondo-db/rondo/cluster/coord/coordtest"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// store opens a database with some series.
func store(t *testing.T, paths ...string) *core.Store {
	t.Helper()
	s, err := core.Open(t.TempDir(), core.Options{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	add(t, s, paths...)
	return s
}

func add(t *testing.T, s core.Engine, paths ...string) {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if _, err := core.Create(t.Context(), s, core.Spec{Path: path, Definition: d, Start: rra.Seconds(1_000_000_000)}); err != nil {
			t.Fatal(err)
		}
	}
}

func source(t *testing.T, s *core.Store) Source {
	t.Helper()
	id, err := s.Identity()
	if err != nil {
		t.Fatal(err)
	}
	return Source{Origin: Origin{Source: id, Name: "/db"}, Each: func(fn func(core.Engine) error) error { return fn(s) }}
}

// A stopping engine fails after a number of imports.
type stopping struct {
	core.Engine
	left int
}

var errKilled = errors.New("killed")

func (s *stopping) AddNote(ctx context.Context, key string, n core.Note) error {
	if s.left--; s.left < 0 {
		return errKilled
	}
	return s.Engine.AddNote(ctx, key, n)
}

func isUnfit(err error) bool {
	_, ok := errors.AsType[*UnfitError](err)
	return ok
}

// A cluster is filled from one database, once, and an interrupted run is finished by the next.
func TestFill(t *testing.T) {
	kept := func() coord.Store { return coordtest.New(time.Now, 1).Truth() }
	from := store(t, "a", "b/c", "rondo/x")
	if err := from.AddNote(t.Context(), "a", core.Note{Time: 1, Text: "n"}); err != nil {
		t.Fatal(err)
	}
	s, to := kept(), store(t, "rondo/n1/x", "rondo/x")
	if _, _, err := Fill(t.Context(), s, &stopping{to, 0}, source(t, from), nil); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	_, _, err := Fill(t.Context(), s, to, source(t, store(t, "z")), nil)
	if err == nil || !strings.Contains(err.Error(), "is being filled from /db since") || !isUnfit(err) {
		t.Errorf("another database: %v", err)
	}
	x, calls := source(t, from), 0
	x.Files = func(context.Context) error {
		if calls++; calls == 1 {
			return errKilled
		}
		return nil
	}
	if _, o, err := Fill(t.Context(), s, to, x, nil); !errors.Is(err, errKilled) || isUnfit(err) || !o.Done.IsZero() {
		t.Errorf("files that cannot be taken along: %+v, %v", o, err)
	}
	got, o, err := Fill(t.Context(), s, to, x, nil)
	if err != nil || calls != 2 || got.Series != 3 || got.Equal != 3 || got.Notes != 1 || o.Done.IsZero() {
		t.Errorf("%+v, %+v, %v", got, o, err)
	}
	_, again, err := Fill(t.Context(), s, to, source(t, from), nil)
	if !errors.Is(err, ErrFilled) || again.Digest != o.Digest || !again.Done.Equal(o.Done) {
		t.Errorf("%+v, %v", again, err)
	}
	_, _, err = Fill(t.Context(), s, to, source(t, store(t, "z")), nil)
	if err == nil || !strings.Contains(err.Error(), "was filled from /db on") || !isUnfit(err) {
		t.Errorf("another database, later: %v", err)
	}
	s = kept()
	_, _, err = Fill(t.Context(), s, store(t, "other"), source(t, from), nil)
	if err == nil || !strings.Contains(err.Error(), `has series already, such as "other"`) || !isUnfit(err) {
		t.Errorf("a cluster with series: %v", err)
	}
	if e, err := s.Get(t.Context(), keyOrigin); err != nil || e.Revision != 0 {
		t.Errorf("it is noted: %v, %v", e, err)
	}
}

// Series that somebody makes meanwhile are reported.
func TestFillAmongOthers(t *testing.T) {
	from, to := store(t, "a"), store(t)
	x := source(t, from)
	x.Each = func(fn func(core.Engine) error) error {
		add(t, to, "other")
		return fn(from)
	}
	_, o, err := Fill(t.Context(), coordtest.New(time.Now, 1).Truth(), to, x, nil)
	if err == nil || !strings.Contains(err.Error(), "has 2 series, and 1 were copied") || !o.Done.IsZero() {
		t.Errorf("%+v, %v", o, err)
	}
}
