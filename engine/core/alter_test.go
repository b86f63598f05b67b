package core_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal/waltest"
)

// TestAlterAgainstAppend: a series is altered while samples for it arrive without a pause, several
// at a time, some held by a reorder window: none is lost, and each is in the rows.
func TestAlterAgainstAppend(t *testing.T) {
	for _, reorder := range []time.Duration{0, 3 * time.Second} {
		t.Run(fmt.Sprint("reorder=", reorder), func(t *testing.T) {
			s := enginetest.OpenDir(t, t.TempDir(), core.Options{Reorder: reorder})
			def := definition(t, "DS:a:ABSOLUTE:20:U:U", "RRA:AVERAGE:0.5:1:100000")
			mustCreate(t, s, "x", def)
			stop := make(chan struct{})
			var running sync.WaitGroup
			var altered atomic.Int64
			running.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, err := s.Alter(t.Context(), "x", func(c core.Copy) (core.Copy, error) {
						d := *c.Definition
						d.Sources = append([]rra.DataSource(nil), d.Sources...)
						d.Sources[0].Heartbeat = 20 + altered.Load()%2
						c.Definition = &d
						return c, nil
					})
					if err != nil {
						t.Errorf("alter: %v", err)
						return
					}
					altered.Add(1)
				}
			})
			step := int64(10)
			n := int64(0)
			for n < 200 || altered.Load() < 5 && n < 100_000 {
				n++
				at := n
				for {
					ref, err := s.Lookup("x")
					if err != nil {
						t.Fatal(err)
					}
					var b core.Batch
					b.Add(ref, rra.Seconds(programStart+step*at), rra.Float(float64(at)))
					err = s.Append(t.Context(), &b)
					if err == nil {
						break
					}
					var refused *core.RejectedError
					if !errors.As(err, &refused) || !errors.Is(refused.First[0].Err, core.ErrNotFound) {
						t.Fatal(err)
					} // it has another reference now
				}
			}
			close(stop)
			running.Wait()
			ref, err := s.Lookup("x")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Flush(t.Context(), []core.Ref{ref}); err != nil {
				t.Fatal(err)
			}
			rows, err := s.Fetch(t.Context(), ref, 0, programStart, programStart+step*n)
			if err != nil {
				t.Fatal(err)
			}
			for i, v := range rows.Values {
				if want := float64(i+1) / float64(step); v != want {
					t.Fatalf("row %d is %v, want %v", i, v, want)
				}
			}
			if k := altered.Load(); k < 5 {
				t.Errorf("altered %d times: the two have not met", k)
			}
		})
	}
}

// TestFlushSurvives: what a flush has let go is the same after a crash.
func TestFlushSurvives(t *testing.T) {
	dir := t.TempDir()
	o := core.Options{NoBackground: true, Reorder: time.Hour}
	s := enginetest.OpenDir(t, dir, o)
	ref := mustCreate(t, s, "x", definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"))
	var b core.Batch
	for _, at := range []int64{30, 10, 20} {
		b.Reset()
		b.Add(ref, rra.Seconds(programStart+at), rra.Float(float64(at)))
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	if at, err := s.Last(ref); err != nil || at != rra.Seconds(programStart) {
		t.Fatalf("last %d, %v: nothing is held", at, err)
	}
	if err := s.Flush(t.Context(), []core.Ref{ref, 12345 << 32}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*core.Store{s, crash(t, dir, o)} {
		if at, err := s.Last(ref); err != nil || at != rra.Seconds(programStart+30) {
			t.Errorf("last %d, %v after a flush", at, err)
		}
		if st := s.Stats(); st.Held != 0 {
			t.Errorf("%d samples are still held", st.Held)
		}
	}
}

// TestAlterKeepsLabels: labels that are given, and acknowledged, while a series is being altered
// stay.
func TestAlterKeepsLabels(t *testing.T) {
	s := enginetest.Open(t)
	mustCreate(t, s, "a", testDefinition(t), core.Label{Name: "host", Value: "old"})
	calls := 0
	ref, err := s.Alter(t.Context(), "a", func(c core.Copy) (core.Copy, error) {
		if calls++; calls == 1 {
			out, err := s.Relabel(t.Context(), []core.PathLabels{{Path: "a", Labels: []core.Label{{Name: "host", Value: "new"}}}})
			if err != nil || out[0] != nil {
				t.Fatal(out, err)
			}
		}
		d := *c.Definition
		d.Sources = slices.Clone(d.Sources)
		d.Sources[0].Heartbeat = 77
		c.Definition = &d
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Series(ref)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.Labels) != 1 || x.Labels[0].Value != "new" || x.Definition.Sources[0].Heartbeat != 77 {
		t.Errorf("labels %v, heartbeat %d", x.Labels, x.Definition.Sources[0].Heartbeat)
	}
	if calls != 2 {
		t.Errorf("change was called %d times", calls)
	}
}

// TestRenameMovesMetadataOnItsWay: metadata that is on its way to the log when its series is
// renamed goes with it. The rename put in its place what was kept before, and removed it.
func TestRenameMovesMetadataOnItsWay(t *testing.T) {
	log := waltest.NewStream(1)
	s := mustOpen(t, t.TempDir(), onStream(core.Options{NoBackground: true}, log))
	mustCreate(t, s, "a", testDefinition(t))
	text := func(s string) []core.PathMetadata {
		return []core.PathMetadata{{Path: "a", Metadata: core.Metadata{Text: s}}}
	}
	if _, err := s.SetMetadata(t.Context(), text("earlier")); err != nil {
		t.Fatal(err)
	}
	log.Hold()
	set, renamed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := s.SetMetadata(t.Context(), text("later"))
		set <- err
	}()
	for s.Queued() == 0 {
		runtime.Gosched()
	}
	go func() { renamed <- s.Rename(t.Context(), "a", "b") }()
	for !s.Paused() {
		runtime.Gosched()
	}
	log.Release()
	if err := errors.Join(<-set, <-renamed); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"a": "", "b": "later"} {
		if m, err := s.Metadata(path); err != nil || m.Text != want {
			t.Errorf("metadata of %s: %q, %v, want %q", path, m.Text, err, want)
		}
	}
	enginetest.Check(t, s)
	mustClose(t, s.Close())
}
