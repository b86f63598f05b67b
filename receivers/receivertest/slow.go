package receivertest

import (
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
)

// Slow sends samples that are about 10 s, 60 s and 300 s apart, without any option. Whatever the
// sender says of its step, or does not say, the finest rows of its series are known, but for two.
func Slow(t *testing.T, c Case) {
	const points = 12
	for _, apart := range []int{10, 60, 300} {
		store, err := core.Open(t.TempDir(), core.Options{})
		if err != nil {
			t.Fatal(err)
		}
		own := sink.New(store, sink.Options{})
		c, open := c, c.Protocol.New
		c.Protocol.New = func(cfg receivers.Config, _ receivers.Sink) (receivers.Receiver, error) { return open(cfg, own) }
		if c.Every != nil {
			c.Message = func(n int) []byte { return c.Every(n, apart) }
		}
		var now atomic.Int64
		r := Start(t, c, new(Recorder), func(cfg *receivers.Config) {
			Patient(cfg)
			cfg.Now = func() time.Time { return time.Unix(now.Load(), 0) }
		})
		var series core.Series
		for i := range points {
			n := i*apart + i%2
			now.Store(Epoch + int64(n))
			r.Send(c.Message(n))
			eventually(t, "the sample is stored", func() bool {
				for s, err := range store.Select(t.Context(), core.Query{}) {
					if err != nil {
						t.Fatal(err)
					}
					series = s
					at, _, err := own.Last(t.Context(), s.Ref)
					return err == nil && at.Unix() == Epoch+int64(n)
				}
				return false
			})
		}
		rows, err := store.Fetch(t.Context(), series.Ref, 0, Epoch, Epoch+int64((points-1)*apart))
		if err != nil {
			t.Fatal(err)
		}
		known := 0
		for _, v := range rows.Values {
			if !math.IsNaN(v) {
				known++
			}
		}
		kept := int(series.Definition.Archives[0].Rows)
		if known < min(len(rows.Values), kept)-2 {
			t.Errorf("samples %d s apart: the step is %d s, the heartbeat %d s: %d of %d rows are known",
				apart, series.Definition.Step, series.Definition.Sources[0].Heartbeat, known, len(rows.Values))
		}
		r.Stop()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}
