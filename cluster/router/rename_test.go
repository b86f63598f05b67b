package router_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// errCrash stands for the end of the process.
var errCrash = errors.New("crash")

// A moving is a series that is renamed to a path of another partition.
type moving struct {
	t        *testing.T
	dir      stores
	from, to string
	want     core.Copy
	meta     core.Metadata
}

func newMoving(t *testing.T, dir stores, n int) *moving {
	t.Helper()
	ctx := t.Context()
	m := &moving{t: t, dir: dir, from: pathIn(0, 2, n), to: pathIn(1, 2, n), meta: core.Metadata{Time: rra.Seconds(begin), Text: "of it"}}
	r := newRouter(t, dir, router.Options{})
	ref, err := core.Create(ctx, r, core.Spec{Path: m.from, Definition: gauge(t), Start: rra.Seconds(begin), Labels: []core.Label{{Name: "host", Value: "a"}}})
	must(t, err)
	m.append(r, ref, 1)
	_, err = r.SetMetadata(ctx, []core.PathMetadata{{Path: m.from, Metadata: m.meta}})
	must(t, err)
	m.want, err = r.Export(ctx, ref)
	must(t, err)
	return m
}

// append adds samples of 10 steps, from the n-th on.
func (m *moving) append(e core.Engine, ref core.Ref, n int) {
	m.t.Helper()
	var b core.Batch
	for i := n; i < n+10; i++ {
		b.Add(ref, rra.Seconds(int64(begin+10*i)), rra.Int(int64(i)))
	}
	must(m.t, core.Append(m.t.Context(), e, &b))
}

// whole reports whether a path has everything that the series had.
func (m *moving) whole(r *router.Store, path string, labelsToo bool) error {
	ref, err := r.Lookup(path)
	if err != nil {
		return err
	}
	got, err := r.Export(m.t.Context(), ref)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(got.State, m.want.State) || !same(reflect.ValueOf(got.Rows), reflect.ValueOf(m.want.Rows)) {
		return fmt.Errorf("state or rows of %s differ", path)
	}
	if labelsToo && !reflect.DeepEqual(got.Labels, m.want.Labels) {
		return fmt.Errorf("%s has the labels %v", path, got.Labels)
	}
	return nil
}

// renamed checks that the move is complete.
func (m *moving) renamed(r *router.Store) {
	m.t.Helper()
	if _, err := r.Lookup(m.from); !errors.Is(err, core.ErrNotFound) {
		m.t.Errorf("the old path is there: %v", err)
	}
	if err := m.whole(r, m.to, true); err != nil {
		m.t.Error(err)
	}
	if got, err := core.MetadataOf(m.t.Context(), r, m.to); err != nil || !reflect.DeepEqual(got, m.meta) {
		m.t.Errorf("metadata of the new path: %+v, %v", got, err)
	}
	if got, err := core.MetadataOf(m.t.Context(), r, m.from); err != nil || !reflect.DeepEqual(got, core.Metadata{}) {
		m.t.Errorf("metadata of the old path: %+v, %v", got, err)
	}
}

// A rename between partitions that ends at any step leaves the series whole under one of the paths,
// and the same rename finishes it.
func TestRenameThatIsInterruptedLosesNothing(t *testing.T) {
	dir := openStores(t, 2, core.Options{})
	whole := newRouter(t, dir, router.Options{})
	n := 0
	for _, answered := range []bool{false, true} { // the last call is lost, or its answer is
		for stop, ended := 1, false; !ended; stop++ {
			m := newMoving(t, dir, n)
			n++
			calls, last := 0, ""
			crash := func(call string) error {
				if calls++; calls >= stop {
					if calls == stop {
						last = call
					}
					return errCrash
				}
				return nil
			}
			hooks := [2]func(string) error{nothing, crash}
			if !answered {
				hooks = [2]func(string) error{crash, nothing}
			}
			err := newRouter(t, dir.hook(hooks[0], hooks[1]), router.Options{}).Rename(t.Context(), m.from, m.to)
			ended = err == nil
			if err != nil && !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			if errOld, errNew := m.whole(whole, m.from, true), m.whole(whole, m.to, false); errOld != nil && errNew != nil {
				t.Fatalf("after %s, call %d (done %v), no path is whole: %v, %v", last, stop, answered, errOld, errNew)
			}
			if !ended {
				t.Logf("stopped at call %d, %s (done %v)", stop, last, answered)
				if err := whole.Rename(t.Context(), m.from, m.to); err != nil && !errors.Is(err, core.ErrNotFound) {
					t.Fatalf("after %s, call %d (done %v): %v", last, stop, answered, err)
				}
			}
			m.renamed(whole)
		}
	}
}

// Samples that came between the copy and the drop of the old path were lost.
func TestRenameKeepsSamplesThatComeMeanwhile(t *testing.T) {
	for _, call := range []string{"Export", "CreateBatch", "SetMetadata"} {
		dir := openStores(t, 2, core.Options{})
		m := newMoving(t, dir, 0)
		old, err := dir[0].Lookup(m.from)
		must(t, err)
		arrives := 11
		r := newRouter(t, dir.hook(nothing, func(at string) error {
			if at == call && arrives < 40 {
				m.append(dir[0], old, arrives)
				arrives += 10
			}
			return nil
		}), router.Options{})
		must(t, r.Rename(t.Context(), m.from, m.to))
		ref, err := r.Lookup(m.to)
		must(t, err)
		if last, err := core.Last(t.Context(), r, ref); err != nil || last != rra.Seconds(int64(begin+10*(arrives-1))) {
			t.Errorf("samples after %s: last update %v, %v; %d steps came", call, last, err, arrives-1)
		}
	}
}

// A rename onto a series that is no copy of an interrupted move is refused, and nothing is changed.
func TestRenameOntoAnotherSeriesChangesNothing(t *testing.T) {
	dir := openStores(t, 2, core.Options{})
	m := newMoving(t, dir, 0)
	r := newRouter(t, dir, router.Options{})
	_, err := core.Create(t.Context(), r, core.Spec{Path: m.to, Definition: gauge(t), Start: rra.Seconds(begin)})
	must(t, err)
	if err := r.Rename(t.Context(), m.from, m.to); !errors.Is(err, core.ErrExists) {
		t.Errorf("error %v, want %v", err, core.ErrExists)
	}
	if err := m.whole(r, m.from, true); err != nil {
		t.Error(err)
	}
}

// Samples of the new path, acknowledged after a rename was interrupted, were replaced by the old
// series when the same rename finished the move.
func TestRenameThatIsFinishedKeepsSamplesOfTheNewPath(t *testing.T) {
	dir := openStores(t, 2, core.Options{})
	whole := newRouter(t, dir, router.Options{})
	m := newMoving(t, dir, 0)
	m.interrupt()
	ref, err := whole.Lookup(m.to)
	must(t, err)
	m.append(whole, ref, 11)
	m.want, err = whole.Export(t.Context(), ref)
	must(t, err)
	m.want.Labels = m.want.Labels[:1]
	must(t, whole.Rename(t.Context(), m.from, m.to))
	m.renamed(whole)
}

// interrupt begins the rename, and ends before the old path is dropped.
func (m *moving) interrupt() {
	m.t.Helper()
	crash := func(call string) error {
		if call == "Drop" {
			return errCrash
		}
		return nil
	}
	if err := newRouter(m.t, m.dir.hook(crash, nothing), router.Options{}).Rename(m.t.Context(), m.from, m.to); !errors.Is(err, errCrash) {
		m.t.Fatal(err)
	}
}

// A rename is refused, and keeps both paths, when both have got samples since the copy, or when the
// old path is another series by now. Once one of them is dropped it goes on.
func TestRenameKeepsBothPathsThatHaveChanged(t *testing.T) {
	for _, what := range []string{"samples of both", "a new series at the old path"} {
		for _, drop := range []string{"old", "new"} {
			dir := openStores(t, 2, core.Options{})
			r := newRouter(t, dir, router.Options{})
			m := newMoving(t, dir, 0)
			m.interrupt()
			var err error
			if what == "samples of both" {
				ref, err := r.Lookup(m.to)
				must(t, err)
				m.append(r, ref, 11)
			} else {
				must(t, core.Drop(t.Context(), r, m.from))
				_, err = core.Create(t.Context(), r, core.Spec{Path: m.from, Definition: gauge(t), Start: rra.Seconds(begin + 100)})
				must(t, err)
			}
			old, err := r.Lookup(m.from)
			must(t, err)
			m.append(r, old, 21)
			lasts := m.lasts(r)
			if err := r.Rename(t.Context(), m.from, m.to); !errors.Is(err, core.ErrExists) {
				t.Fatalf("%s: the error is %v, want %v", what, err, core.ErrExists)
			}
			if now := m.lasts(r); now != lasts {
				t.Errorf("%s: the last updates were %v, and are %v", what, lasts, now)
			}
			want := lasts[1]
			if drop == "old" {
				must(t, core.Drop(t.Context(), r, m.from))
			} else {
				must(t, core.Drop(t.Context(), r, m.to))
				want = lasts[0]
			}
			must(t, r.Rename(t.Context(), m.from, m.to))
			ref, err := r.Lookup(m.to)
			must(t, err)
			if last, err := core.Last(t.Context(), r, ref); err != nil || last != want {
				t.Errorf("%s, %s path dropped: the last update is %v, %v, want %v", what, drop, last, err, want)
			}
		}
	}
}

// lasts returns the last updates of the old path and of the new one.
func (m *moving) lasts(r *router.Store) (at [2]rra.Time) {
	m.t.Helper()
	for i, path := range []string{m.from, m.to} {
		ref, err := r.Lookup(path)
		must(m.t, err)
		at[i], err = core.Last(context.Background(), r, ref)
		must(m.t, err)
	}
	return at
}

// Both paths get samples in the course of one rename, between the copy and the drop.
func TestRenameDuringWhichBothPathsGetSamplesLosesNone(t *testing.T) {
	for _, both := range []bool{false, true} {
		dir := openStores(t, 2, core.Options{})
		m := newMoving(t, dir, 0)
		old, err := dir[0].Lookup(m.from)
		must(t, err)
		arrived := false
		r := newRouter(t, dir.hook(nothing, func(at string) error {
			if at != "SetMetadata" || arrived {
				return nil
			}
			arrived = true
			to, err := dir[1].Lookup(m.to)
			must(t, err)
			m.append(dir[1], to, 21)
			if both {
				m.append(dir[0], old, 11)
			}
			return nil
		}), router.Options{})
		err = r.Rename(t.Context(), m.from, m.to)
		if both != errors.Is(err, core.ErrExists) || !both && err != nil {
			t.Errorf("samples at both paths %v: the error is %v", both, err)
		}
		if both {
			at := m.lasts(r)
			if at[0] != rra.Seconds(begin+200) || at[1] != rra.Seconds(begin+300) {
				t.Errorf("the last updates are %v", at)
			}
			continue
		}
		ref, err := r.Lookup(m.to)
		must(t, err)
		if last, err := core.Last(t.Context(), r, ref); err != nil || last != rra.Seconds(begin+300) {
			t.Errorf("the last update of the new path is %v, %v", last, err)
		}
	}
}
