package backups_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backups"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
)

// A source gives what it holds as a backup.
type source struct {
	backup []byte
	mu     sync.Mutex // guards err
	err    error
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *source) BackupSince(_ context.Context, w io.Writer, _ *core.BackupHead) error {
	if _, err := w.Write(s.backup); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// whole returns a backup of a store.
func whole(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := enginetest.Open(t).Backup(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// TestMake: backups are whole, the newest are kept, and files of others stay.
func TestMake(t *testing.T) {
	s := &source{backup: whole(t)}
	now := time.Date(2026, 11, 22, 17, 8, 31, 0, time.UTC)
	dir := filepath.Join(t.TempDir(), "made", "by", "it")
	k := &backups.Keeper{Source: s, Options: backups.Options{Dir: dir, Every: time.Hour, Keep: 2}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
	for range 3 {
		if err := k.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "rondo-mine.zst"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	want := []string{"rondo-20261122T180831Z.zst", "rondo-20261122T190831Z.zst", "rondo-mine.zst"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("the folder holds %q", got)
	}
	st := k.State()
	if st.Made != 3 || st.Failed != 0 || st.Err != nil || !st.Last.Equal(now.Add(-time.Hour)) || st.Bytes != int64(len(s.backup)) {
		t.Errorf("%+v", st)
	}
	f, err := os.Open(filepath.Join(dir, want[1]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := core.Restore(f, filepath.Join(t.TempDir(), "db")); err != nil {
		t.Error(err)
	}
}

// TestBackupOfClockSetBackStays: when the clock was set back, the backups with names in the future
// stayed, and each new backup was removed as soon as it was made.
func TestBackupOfClockSetBackStays(t *testing.T) {
	now := time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	k := &backups.Keeper{Source: &source{backup: whole(t)}, Options: backups.Options{Dir: dir, Every: time.Hour, Keep: 2}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
	for _, step := range []struct {
		at   time.Time
		want []string
	}{
		{now, []string{"rondo-20360101T000000Z.zst"}},
		{now.Add(time.Hour), []string{"rondo-20360101T000000Z.zst", "rondo-20360101T010000Z.zst"}},
		{now.AddDate(-10, 0, 0), []string{"rondo-20260101T000000Z.zst", "rondo-20360101T010000Z.zst"}},
		{now.AddDate(-10, 0, 1), []string{"rondo-20260101T000000Z.zst", "rondo-20260102T000000Z.zst"}},
	} {
		now = step.at
		if err := k.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := names(t, dir); !slices.Equal(got, step.want) {
			t.Errorf("after the backup of %s the folder holds %q, want %q", now, got, step.want)
		}
	}
}

// TestFailures: a backup that fails, is damaged or has no place leaves the old ones alone.
func TestFailures(t *testing.T) {
	good := whole(t)
	cut := good[:len(good)-3]
	for name, c := range map[string]struct {
		source *source
		want   string
	}{
		"the store fails":     {&source{backup: good, err: errors.New("broken")}, "broken"},
		"what is written bad": {&source{backup: cut}, "verify a backup"},
		"two in a second":     {&source{backup: good}, "exists"},
	} {
		dir := t.TempDir()
		now := time.Unix(1_700_000_000, 0)
		k := &backups.Keeper{Source: &source{backup: good}, Options: backups.Options{Dir: dir, Every: time.Hour, Keep: 1}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return now }}
		if err := k.Make(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.want != "exists" {
			now = now.Add(time.Hour)
		}
		k.Source = c.source
		err := k.Make(t.Context())
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if got := names(t, dir); !slices.Equal(got, []string{"rondo-20231114T221320Z.zst"}) {
			t.Errorf("%s: the folder holds %q", name, got)
		}
		if st := k.State(); st.Failed != 1 || st.Err == nil || st.Made != 1 {
			t.Errorf("%s: %+v", name, st)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	k := &backups.Keeper{Source: &source{backup: good}, Options: backups.Options{Dir: file, Every: time.Hour, Keep: 1}, Logger: slog.New(slog.DiscardHandler)}
	if err := k.Make(t.Context()); err == nil {
		t.Error("a backup into a file")
	}
}

// TestRun: the first is due when the newest of the folder is old enough, then one each Every; after
// a failure one comes earlier.
func TestRun(t *testing.T) {
	good := whole(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		old := "rondo-" + began.Add(-20*time.Hour).UTC().Format("20060102T150405Z") + ".zst"
		if err := os.WriteFile(filepath.Join(dir, old), good, 0o600); err != nil {
			t.Fatal(err)
		}
		s := &source{backup: good}
		k := &backups.Keeper{Source: s, Options: backups.Options{Dir: dir, Every: 24 * time.Hour, Keep: 9}, Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		for i, step := range []struct {
			after        time.Duration // since the start
			fails        bool
			made, failed uint64
		}{
			{3 * time.Hour, false, 0, 0},
			{5 * time.Hour, false, 1, 0},
			{27 * time.Hour, true, 1, 0},
			{28*time.Hour + 5*time.Minute, true, 1, 1},
			{28*time.Hour + 12*time.Minute, false, 1, 2},
			{28*time.Hour + 25*time.Minute, false, 2, 2},
		} {
			time.Sleep(time.Until(began.Add(step.after)))
			synctest.Wait()
			if st := k.State(); st.Made != step.made || st.Failed != step.failed {
				t.Errorf("step %d: %+v", i, st)
			}
			if s.fail(nil); step.fails {
				s.fail(errors.New("broken"))
			}
		}
		cancel()
		<-done
	})
}

// TestClock: a clock that was set back does not put backups off.
func TestClock(t *testing.T) {
	good := whole(t)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(dir, "rondo-29991231T000000Z.zst"), good, 0o600); err != nil {
			t.Fatal(err)
		}
		k := &backups.Keeper{Source: &source{backup: good}, Options: backups.Options{Dir: dir, Every: time.Hour, Keep: 9}, Logger: slog.New(slog.DiscardHandler)}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { k.Run(ctx); close(done) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if st := k.State(); st.Made != 1 {
			t.Errorf("%+v", st)
		}
		cancel()
		<-done
	})
}

// TestClockThatIsSet: a clock that is set while the keeper runs neither puts backups off nor makes
// more of them. With a clock that counted no time, the next one came as much later as it was set
// back.
func TestClockThatIsSet(t *testing.T) {
	good := whole(t)
	const year = 365 * 24 * time.Hour
	for _, by := range []time.Duration{20 * time.Second, time.Hour, 5 * time.Hour, 40 * year} {
		for _, by := range []time.Duration{by, -by} {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var set atomic.Int64
				k := &backups.Keeper{Source: &source{backup: good}, Options: backups.Options{Dir: dir, Every: time.Hour, Keep: 3}, Logger: slog.New(slog.DiscardHandler)}
				k.Now = func() time.Time { return time.Now().Add(40*year + time.Duration(set.Load())) }
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { k.Run(ctx); close(done) }()
				for i := range 9 {
					time.Sleep(time.Minute)
					synctest.Wait()
					if st := k.State(); st.Made != uint64(i+1) || st.Failed != 0 {
						t.Fatalf("clock set by %v: after %d hours there are %+v", by, i, st)
					}
					switch i {
					case 3:
						set.Store(int64(by + 3*time.Second)) // no two backups have the same second
					case 6:
						set.Store(int64(7 * time.Second)) // and right again
					}
					if i < 8 {
						time.Sleep(59 * time.Minute)
					}
				}
				if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
					t.Errorf("clock set by %v: %v are kept, %v", by, entries, err)
				}
				cancel()
				<-done
			})
		}
	}
}
