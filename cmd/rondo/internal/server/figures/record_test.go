package figures

import (
	"errors"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/clustered"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
)

func TestOwnSeries(t *testing.T) {
	store, err := core.Open(t.TempDir(), core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := recorder{store: store, own: clustered.OwnFolder, refs: make(map[string]core.Ref)}
	fs := []figure{
		{"samples", "rondo_samples_total", rra.Derive, "", 100},
		{"series", "rondo_series", rra.Gauge, "", 5},
		{"cpu", "cpu_seconds_total", rra.DDerive, "", 1},
		{"", "not_recorded", rra.Gauge, "", 5},
	}
	const epoch = 1_700_000_000
	for i := range 4 {
		if err := r.write(t.Context(), rra.Seconds(epoch+int64(i)*Step), fs); err != nil {
			t.Fatal(err)
		}
		fs[0].value += 50
		fs[2].value += 2.5
	}
	if err := r.write(t.Context(), rra.Seconds(epoch+3*Step), fs); err != nil {
		t.Errorf("the same step again: %v", err)
	}
	if n := store.Stats().Series; n != 3 {
		t.Errorf("%d series, want 3", n)
	}
	for name, want := range map[string]float64{"rondo/samples": 5, "rondo/series": 5, "rondo/cpu": 0.25} {
		ref, err := store.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := store.Fetch(t.Context(), ref, 0, epoch+Step, epoch+2*Step)
		if err != nil {
			t.Fatal(err)
		}
		if rows.Values[0] != want {
			t.Errorf("%s: got %v, want %v", name, rows.Values, want)
		}
	}
}

// TestOwnSeriesOfAClockThatIsSet: while the series of the server's own figures have a time ahead of
// the clock, it is said until when; then they go on. The hole was silent.
func TestOwnSeriesOfAClockThatIsSet(t *testing.T) {
	const epoch, year = 1_700_000_000, 365 * 86400
	for _, by := range []int64{-20, 20, -3600, 3600, -5 * 3600, 5 * 3600, -40 * year, 40 * year} {
		store := enginetest.Open(t)
		r := recorder{store: store, own: clustered.OwnFolder, refs: make(map[string]core.Ref)}
		fs := []figure{{"samples", "rondo_samples_total", rra.Derive, "", 100}, {"series", "rondo_series", rra.Gauge, "", 5}}
		write := func(at int64) error { return r.write(t.Context(), rra.Seconds(at), fs) }
		newest := int64(epoch)
		for _, at := range []int64{epoch, epoch + by, epoch + by + Step, epoch + Step} { // set, and right again
			err := write(at)
			late, refused := errors.AsType[*lateError](err)
			switch {
			case at > newest || at == epoch:
				if err != nil {
					t.Errorf("clock set by %d: at %d: %v", by, at-epoch, err)
				}
				newest = max(newest, at)
			case !refused || late.last != rra.Seconds(newest):
				t.Errorf("clock set by %d: at %d: %v, want one that ends at %d", by, at-epoch, err, newest-epoch)
			}
		}
		if err := write(newest + Step); err != nil {
			t.Errorf("clock set by %d: when it has caught up: %v", by, err)
		}
	}
	for _, at := range []time.Time{time.Now(), time.Unix(epoch, 0), time.Unix(epoch, 1), time.Unix(epoch-40*year, 999)} {
		if d := untilOwnStep(at); d <= 0 || d > Step*time.Second || at.Add(d).UnixNano()%(Step*1e9) != 0 {
			t.Errorf("at %v the next step is %v away", at, d)
		}
	}
}
