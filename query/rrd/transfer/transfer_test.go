package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/transfer"
)

// imported imports items and returns what has become of each, by its path.
func imported(t *testing.T, s transfer.ImportStore, o transfer.Options, items ...transfer.Item) map[string]transfer.Result {
	t.Helper()
	queue := make(chan transfer.Item, len(items))
	for _, item := range items {
		queue <- item
	}
	close(queue)
	out := make(map[string]transfer.Result)
	if err := transfer.Import(t.Context(), s, o, queue, func(r transfer.Result) { out[r.Path] = r }); err != nil {
		t.Fatal(err)
	}
	if len(out) != len(items) {
		t.Fatalf("%d results of %d items", len(out), len(items))
	}
	return out
}

// TestImportExport: what is imported is exported as it was, through a store and through a Single.
func TestImportExport(t *testing.T) {
	s := enginetest.Open(t)
	var items []transfer.Item
	for i := range 5 {
		items = append(items, transfer.Item{Index: i, Path: fmt.Sprintf("a/%d.rrd", i), Data: typical(t, uint64(i))})
	}
	labels := []core.Label{{Name: "site", Value: "x"}}
	for path, r := range imported(t, s, transfer.Options{Jobs: 3, Labels: labels}, items...) {
		if r.Outcome != transfer.Imported || r.Err != nil {
			t.Errorf("%s: %v %v", path, r.Outcome, r.Err)
		}
	}
	var mu sync.Mutex
	exported := make(map[string]string)
	err := transfer.Export(t.Context(), s, "a/", transfer.ExportOptions{Jobs: 3}, func(path string, data []byte, err error) error {
		mu.Lock()
		defer mu.Unlock()
		if _, twice := exported[path]; twice || err != nil {
			t.Errorf("%s: twice %v, %v", path, twice, err)
		}
		exported[path] = string(data)
		return nil
	})
	if err != nil || len(exported) != len(items) {
		t.Errorf("%d series exported: %v", len(exported), err)
	}
	for _, item := range items {
		if exported[item.Path] != string(item.Data) {
			t.Errorf("%s: %d bytes, of %d, or others", item.Path, len(exported[item.Path]), len(item.Data))
		}
	}
	stop := errors.New("stop")
	err = transfer.Export(t.Context(), s, "", transfer.ExportOptions{Jobs: 2}, func(string, []byte, error) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("%v, not what the caller said", err)
	}
	for path, r := range imported(t, s, transfer.Options{}, items...) {
		if r.Outcome != transfer.Skipped {
			t.Errorf("%s again: %v %v", path, r.Outcome, r.Err)
		}
	}
	refs, err := s.Lookup("a/3")
	if err != nil {
		t.Fatal(err)
	}
	series, err := s.Series(refs)
	if err != nil || len(series.Labels) != 1 || series.Labels[0] != labels[0] {
		t.Errorf("labels %v, %v", series.Labels, err)
	}
}

// TestImportFailures: a file that cannot be imported says why, and the others are.
func TestImportFailures(t *testing.T) {
	s := enginetest.Open(t)
	whole := typical(t, 1)
	missing := filepath.Join(t.TempDir(), "x.rrd")
	out := imported(t, s, transfer.Options{},
		transfer.Item{Path: "short", Data: whole[:len(whole)-1]},
		transfer.Item{Path: "empty", Data: []byte{}},
		transfer.Item{Path: "missing", Name: missing},
		transfer.Item{Path: "folder", Name: filepath.Dir(missing)},
		transfer.Item{Path: "../up", Data: whole},
		transfer.Item{Path: "good", Data: whole})
	for path, r := range out {
		if good := path == "good"; good != (r.Outcome == transfer.Imported) || good != (r.Err == nil) {
			t.Errorf("%s: %v %v", path, r.Outcome, r.Err)
		}
	}
	if err := out["missing"].Err; !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestImportLarge: files that are too many to be held together, or alone, are imported all the
// same, by workers that wait for each other.
func TestImportLarge(t *testing.T) {
	data := typical(t, 1)
	for _, most := range []int{len(data) * 5 / 2, len(data), len(data) / 2} {
		var items []transfer.Item
		for i := range 30 {
			items = append(items, transfer.Item{Path: fmt.Sprintf("s/%d", i), Data: data})
		}
		items[15].Data = data[:1000] // one that fails, and one that is there
		items[20].Path = items[0].Path
		o := transfer.Options{Jobs: 5}
		o.Inside = int64(most)
		s := enginetest.Open(t)
		imported(t, s, transfer.Options{}, items[0])
		queue := make(chan transfer.Item, len(items))
		for _, item := range items {
			queue <- item
		}
		close(queue)
		var counts [3]int
		if err := transfer.Import(t.Context(), s, o, queue, func(r transfer.Result) { counts[r.Outcome]++ }); err != nil {
			t.Fatal(err)
		}
		if want := [3]int{27, 2, 1}; counts != want {
			t.Errorf("%d bytes at a time: %v imported, skipped and failed, want %v", most, counts, want)
		}
	}
}

// TestImportStops: the first error of the store ends it.
func TestImportStops(t *testing.T) {
	s := enginetest.Open(t)
	queue := make(chan transfer.Item)
	stop := make(chan struct{})
	defer close(stop)
	data := typical(t, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case queue <- transfer.Item{Path: fmt.Sprint(i), Data: data}:
			case <-stop:
				return
			}
		}
	}()
	err := transfer.Import(t.Context(), broken{s}, transfer.Options{Jobs: 2}, queue, func(r transfer.Result) { t.Error(r.Path) })
	if !errors.Is(err, core.ErrClosed) {
		t.Error(err)
	}
}

// TestImportBeside: a file is skipped if another import makes the same series meanwhile. It fails
// if the other series differs.
func TestImportBeside(t *testing.T) {
	s := enginetest.Open(t)
	imported(t, s, transfer.Options{}, transfer.Item{Path: "a", Data: typical(t, 1)}, transfer.Item{Path: "b", Data: later(t)})
	out := imported(t, &blind{Store: s}, transfer.Options{},
		transfer.Item{Path: "a", Data: typical(t, 1)}, transfer.Item{Path: "b", Data: typical(t, 2)})
	if r := out["a"]; r.Outcome != transfer.Skipped || r.Err != nil {
		t.Errorf("the same: %v %v", r.Outcome, r.Err)
	}
	if r := out["b"]; r.Outcome != transfer.Failed || !errors.Is(r.Err, core.ErrExists) {
		t.Errorf("another: %v %v", r.Outcome, r.Err)
	}
}

// later returns a file that was updated later than the file of typical.
func later(t *testing.T) []byte {
	t.Helper()
	f, err := transfer.Decode(typical(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	f.State.LastUpdate++
	b, err := f.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// blind is a store that does not see a series when it is looked up first.
type blind struct {
	*core.Store
	asked sync.Map
}

func (b *blind) Lookup(path string) (core.Ref, error) {
	if _, again := b.asked.LoadOrStore(path, true); !again {
		return 0, core.ErrNotFound
	}
	return b.Store.Lookup(path)
}

// broken is a store that imports nothing.
type broken struct{ *core.Store }

func (broken) CreateBatch(context.Context, []core.Spec) ([]core.Created, error) {
	return nil, core.ErrClosed
}

// TestSingle: a file that is read says what its series says.
func TestSingle(t *testing.T) {
	f, err := transfer.Decode(typical(t, 7))
	if err != nil {
		t.Fatal(err)
	}
	one, err := transfer.NewSingle("x.rrd", f)
	if err != nil {
		t.Fatal(err)
	}
	s := enginetest.Open(t)
	imported(t, s, transfer.Options{}, transfer.Item{Path: "x.rrd", Data: typical(t, 7)})
	a, err := one.Lookup("x.rrd")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Lookup("x.rrd")
	if err != nil {
		t.Fatal(err)
	}
	last, err := one.Last(a)
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Definition.Archives {
		step := f.Step(i)
		end := last.Unix()/step*step + 3*step
		start := end - (f.Definition.Archives[i].Rows+6)*step
		got, err := one.Fetch(t.Context(), a, i, start, end)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Fetch(t.Context(), b, i, start, end)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("archive %d: rows differ", i)
		}
	}
	if _, err := one.Create(t.Context(), core.Spec{}); !errors.Is(err, core.ErrReadOnly) {
		t.Error(err)
	}
}
