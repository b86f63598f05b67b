package copying

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A database goes into partitions and back with everything, and what comes afterwards gives the
// same rows and states on all sides. Samples that a reorder window holds are applied.
func TestThereAndBack(t *testing.T) {
	const n = 300
	from, to, back := open(t, core.Options{Reorder: 40 * time.Second}), several(t, 5), open(t, core.Options{})
	fill(t, from, n)
	if from.Stats().Held == 0 {
		t.Fatal("no sample is held")
	}
	var steps atomic.Int64
	there, err := Copy(t.Context(), Options{From: from, To: to, Step: func(n int) { steps.Add(int64(n)) }})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, there, Result{Series: n, Copied: n, Metadata: 3, Notes: 17})
	if steps.Load() != n {
		t.Errorf("%d steps", steps.Load())
	}
	again, err := Copy(t.Context(), Options{From: to, To: back})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, again, Result{Series: n, Copied: n, Metadata: 3, Notes: 17})
	if there.Digest != again.Digest || there.Digest == (Digest{}) {
		t.Errorf("digests %v and %v", there.Digest, again.Digest)
	}
	for _, e := range []core.Engine{to, back} {
		if d := differ(t, from, e); len(d) > 0 {
			t.Errorf("%q differ", d)
		}
	}
	for _, e := range []core.Engine{from, to, back} {
		update(t, e, n, 1_000_002_000, 30)
	}
	if err := from.Flush(t.Context(), refsOf(t, from)); err != nil {
		t.Fatal(err)
	}
	for _, e := range []core.Engine{to, back} {
		if d := differ(t, from, e); len(d) > 0 {
			t.Errorf("after further samples %q differ", d)
		}
	}
}

func refsOf(t *testing.T, e core.Engine) (refs []core.Ref) {
	t.Helper()
	for x, err := range e.Select(t.Context(), core.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		refs = append(refs, x.Ref)
	}
	return refs
}

// A copy that ends early goes on when it is made again: what is there stays. Calls that fail for a
// passing reason are made again, whether or not they did anything.
func TestAgain(t *testing.T) {
	const n = 1200
	from, to := open(t, core.Options{}), several(t, 3)
	fill(t, from, n)
	o := Options{From: from, To: &failing{Engine: to, last: 4}, Jobs: 2}
	if _, err := Copy(t.Context(), o); !errors.Is(err, errStop) {
		t.Fatal(err)
	}
	some := to.Stats().Series
	if some == 0 || some == n {
		t.Fatalf("%d series were copied", some)
	}
	o.To = &failing{Engine: to, last: 1 << 40}
	got, err := Copy(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Series != n || got.Copied+got.Equal != n || got.Equal < some || got.Failed > 0 {
		t.Errorf("%+v after %d series", got, some)
	}
	if d := differ(t, from, to); len(d) > 0 {
		t.Errorf("%q differ", d)
	}
	got, err = Copy(t.Context(), Options{From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, got, Result{Series: n, Equal: n, Metadata: 3, Notes: 17})
}

// A copy that is interrupted says so, and that no series has failed: those that were on their way
// were named as failures.
func TestInterrupted(t *testing.T) {
	from, to := open(t, core.Options{}), several(t, 3)
	fill(t, from, 600)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got, err := Copy(ctx, Options{From: from, To: &interrupted{to, stop}, Jobs: 2})
	if !errors.Is(err, context.Canceled) || got.Failed > 0 || len(got.Problems) > 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

// What is older on the other side is replaced; what is newer, and what servers write about
// themselves, stays.
func TestSeriesThatAreThere(t *testing.T) {
	from, to := open(t, core.Options{}), several(t, 2)
	fill(t, from, 4)
	d := shapes(t)[0]
	add := func(e core.Engine, path string, at int64) {
		t.Helper()
		ref, err := core.Create(t.Context(), e, core.Spec{Path: path, Definition: d, Start: rra.Seconds(1_000_000_000)})
		if err != nil {
			t.Fatal(err)
		}
		var b core.Batch
		b.Add(ref, rra.Seconds(at), rra.Int(at))
		if err := core.Append(t.Context(), e, &b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Copy(t.Context(), Options{From: from, To: to}); err != nil {
		t.Fatal(err)
	}
	add(from, "rondo/a", 1_000_000_010)
	add(to, "rondo/a", 1_000_000_020)
	add(from, "newer", 1_000_000_010)
	add(to, "newer", 1_000_000_020)
	update(t, from, 2, 1_000_005_000, 3) // two are older there now
	for _, e := range []core.Engine{from, to} {
		at := rra.Seconds(1_000_009_000)
		if e == to {
			at += rra.Seconds(1)
		}
		if _, err := e.SetMetadata(t.Context(), []core.PathMetadata{{Path: "newer", Metadata: core.Metadata{Time: at, Text: "x"}}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.AddNote(t.Context(), name(0), core.Note{Time: rra.Seconds(2_000_000_000), Text: "other"}); err != nil {
		t.Fatal(err)
	}
	got, err := Copy(t.Context(), Options{From: from, To: to, Own: "rondo"})
	if err != nil {
		t.Fatal(err)
	}
	problems := fmt.Sprint(got.Problems)
	for _, want := range []string{"newer: it has newer samples here", "newer: it has newer metadata here", name(0) + ": it has other notes here"} {
		if !strings.Contains(problems, want) {
			t.Errorf("%s, want %s", problems, want)
		}
	}
	got.Problems = nil
	wants(t, got, Result{Series: 6, Equal: 2, Replaced: 2, Kept: 1, Own: 1, Failed: 3, Metadata: 3, Notes: 1})
	if d, want := differ(t, from, to), []string{name(0), "metadata newer", "newer", "notes " + name(0), "rondo/a"}; !slices.Equal(d, want[1:]) {
		t.Errorf("%q differ, want %q", d, want[1:])
	}
}

// A target that loses what it was given is found out.
func TestReadBack(t *testing.T) {
	from := open(t, core.Options{})
	fill(t, from, 8)
	to := &lossy{Engine: open(t, core.Options{})}
	got, err := Copy(t.Context(), Options{From: from, To: to})
	if err != nil {
		t.Fatal(err)
	}
	if got.Failed != 1 || len(got.Problems) != 1 || got.Problems[0].Path != name(5) || !errors.Is(got.Problems[0].Err, errDiffers) {
		t.Errorf("%+v", got)
	}
}
