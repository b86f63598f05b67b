package core_test

import (
	"errors"
	"fmt"
	"math"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// TestCommitFails has each commit of a run fail once: before it is done, and after, as when the
// sync behind the meta page fails, which shows all the same. What mends the file fails a few times
// too. No checkpoint behind it may fail, all that was acknowledged is read at any time, and check
// finds nothing wrong.
func TestCommitFails(t *testing.T) {
	for _, how := range []string{"commit", "committed"} {
		for _, repairs := range []int{0, 1, 3} {
			for bad := range 12 {
				t.Run(fmt.Sprintf("%s/repairs=%d/%d", how, repairs, bad), func(t *testing.T) { commitFails(t, how, repairs, bad) })
			}
		}
	}
}

func commitFails(t *testing.T, how string, repairs, bad int) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 5)
	n, mends := 0, 0
	s.SetFault(func(what string) error {
		switch {
		case what == how:
			if n++; n == bad+1 {
				return syscall.EIO
			}
		case n == bad+1 && mends < repairs && (what == "repair" || what == "reopen"):
			mends++
			return syscall.EIO
		}
		return nil
	})
	failed := 0
	for round := range 12 {
		f.mustFeed(48)
		if _, err := s.SetMetadata(t.Context(), []core.PathMetadata{{Path: "host/0", Metadata: core.Metadata{Text: fmt.Sprint(round)}}}); err != nil {
			t.Fatal(err)
		}
		if err := s.Checkpoint(t.Context()); err != nil {
			failed++
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("round %d: %v", round, err)
			}
		}
		f.s = s
		f.compare(t)
	}
	if most := repairs + 1; failed > most {
		t.Errorf("%d checkpoints failed, after %d errors of the disk", failed, most)
	}
	if st := s.Stats(); st.DatabaseFailures != 1 || st.DatabaseReopened != 1 {
		t.Errorf("%d failures and %d openings, 1 of each wanted", st.DatabaseFailures, st.DatabaseReopened)
	}
	for round := range 2 {
		if ps, err := s.Check(t.Context()); err != nil || len(ps) > 0 {
			t.Errorf("check: %v %v", ps, err)
		}
		if round == 0 {
			if err := s.Abandon(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, dir, core.Options{NoBackground: true})
			f.s = s
			f.compare(t)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// compare reads the first archive of every series and compares it with what was fed.
func (f *feeder) compare(t *testing.T) {
	t.Helper()
	first := max(1, f.tick-350)
	for i, ref := range f.refs {
		rows, err := f.s.Fetch(t.Context(), ref, 0, programStart+10*(first-1), programStart+10*f.tick)
		if err != nil {
			t.Fatalf("tick %d, series %d: %v", f.tick, i, err)
		}
		for j, got := range rows.Values {
			if want := float64((first+int64(j))*int64(i+1)%1000) / 4; got != want && (j > 0 || !math.IsNaN(got)) {
				t.Fatalf("tick %d, series %d, row %d: got %v, want %v", f.tick, i, j, got, want)
			}
		}
	}
}

// TestLaggingRowsOnce is a commit that counts although its sync failed, of rows of a series that
// lags behind its group: they were written twice, and their record did not parse any more.
func TestLaggingRowsOnce(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 2)
	f.mustFeed(100)
	checkpoint := func() {
		t.Helper()
		if err := s.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
	}
	checkpoint()
	var b core.Batch
	add := func(ref core.Ref, tick int64) {
		t.Helper()
		b.Reset()
		b.Add(ref, rra.Seconds(programStart+10*tick), rra.Float(float64(tick)))
		if err := s.Append(ctx, &b); err != nil {
			t.Fatal(err)
		}
	}
	add(f.refs[0], 5000) // far ahead; the other goes on where it was
	checkpoint()
	for i := int64(101); i <= 240; i++ {
		add(f.refs[1], i)
	}
	failed := false
	s.SetFault(func(what string) error {
		if what == "committed" && !failed || what == "repair" {
			failed = true
			return syscall.EIO
		}
		return nil
	})
	if err := s.Checkpoint(ctx); !errors.Is(err, syscall.EIO) {
		t.Errorf("checkpoint on a bad disk: %v", err)
	}
	s.SetFault(nil)
	for range 3 {
		checkpoint()
	}
	for round := range 2 {
		rows, err := s.Fetch(ctx, f.refs[1], 0, programStart+1000, programStart+2400)
		if err != nil || rows.Values[len(rows.Values)-1] != 240 {
			t.Errorf("fetch: %v %v", rows.Values, err)
		}
		if ps, err := s.Check(ctx); err != nil || len(ps) > 0 {
			t.Errorf("check: %v %v", ps, err)
		}
		if round == 0 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = mustOpen(t, dir, core.Options{NoBackground: true})
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadersKeepTheirPages has a reader in the middle of its transaction while a commit fails and
// the file is opened anew: others read at once, and nothing is written before the reader is
// through.
func TestReadersKeepTheirPages(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, core.Options{NoBackground: true})
	f := newFeeder(t, s, 4)
	f.mustFeed(200)
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.mustFeed(100)
	reopened, commits := make(chan struct{}), 0
	s.SetFault(func(what string) error {
		switch what {
		case "committed":
			if commits++; commits == 1 {
				return syscall.EIO
			}
		case "reopen":
			defer close(reopened)
		}
		return nil
	})
	done := make(chan error, 1)
	read := 0
	err := s.FetchMany(t.Context(), core.Spans(f.refs, 0, programStart, programStart+3000), func(i int, r *core.Rows, err error) {
		if err != nil {
			t.Error(err)
		}
		for j, v := range r.Values {
			if want := float64(int64(j+1)*int64(i+1)%1000) / 4; v != want && j > 0 {
				t.Errorf("series %d, row %d: got %v, want %v", i, j, v, want)
			}
		}
		if read++; read != 1 {
			return
		}
		go func() { done <- s.Checkpoint(t.Context()) }()
		<-reopened
		f.compare(t)
		select {
		case err := <-done:
			t.Errorf("the checkpoint ended while a reader of the old file was at it: %v", err)
		default:
		}
	})
	if err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	f.compare(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
