package collectd

import (
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
)

// BenchmarkStore is all but the socket: decode, look up, add to a batch, and append that to a store
// that acknowledges after fdatasync. ns/value is the time until all is stored, cpu-ns/value the
// time of all processors.
func BenchmarkStore(b *testing.B) {
	const series = 20_000
	packets, values := workload(b, series, "")
	times := timesOf(packets)
	store, err := core.Open(b.TempDir(), core.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s := offline(sink.New(store, sink.Options{}))
	s.readAll(b, packets) // makes the series
	b.ReportAllocs()
	began, before := time.Now(), cpu(b)
	for b.Loop() {
		advance(packets, times)
		s.readAll(b, packets)
	}
	s.queue.Stop()
	total := float64(b.N * values)
	b.ReportMetric(float64(time.Since(began).Nanoseconds())/total, "ns/value")
	b.ReportMetric((cpu(b)-before)*1e9/total, "cpu-ns/value")
	st := s.Stats()
	b.ReportMetric(1-float64(store.Stats().SamplesAccepted)/float64((b.N+1)*series), "lost")
	if st.Dropped[receivers.Late]+st.Dropped[receivers.State] > 0 {
		b.Errorf("%+v", st)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFlood sends readings of 20,000 series over loopback, as fast as they are read: into a
// sink that keeps nothing, and into a store that acknowledges after fdatasync.
func BenchmarkFlood(b *testing.B) {
	b.Run("sink=none", func(b *testing.B) { flood(b, new(receivertest.Nowhere)) })
	b.Run("sink=store", func(b *testing.B) {
		store, err := core.Open(b.TempDir(), core.Options{})
		if err != nil {
			b.Fatal(err)
		}
		flood(b, sink.New(store, sink.Options{}))
		st := store.Stats()
		b.ReportMetric(float64(st.SamplesLate+st.SamplesRefused), "refused")
		b.ReportMetric(float64(st.SamplesAccepted)/float64(st.Batches), "samples/batch")
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	})
}

// window is how many packets may be unread: fewer than a socket buffer of 4 MiB holds.
const window = 1000

func flood(b *testing.B, sink receivers.Sink) {
	packets, values := workload(b, 20_000, "")
	times := timesOf(packets)
	r := serveSink(b, sink, nil)
	sent := uint64(0)
	unread := func() uint64 { s := r.Stats(); return sent - s.Packets - s.KernelDropped }
	round := func() {
		advance(packets, times)
		for _, p := range packets {
			if _, err := r.conn.Write(p); err != nil {
				b.Fatal(err)
			}
			if sent++; sent%64 == 0 {
				until(b, "packets are read", func() bool { return unread() < window })
			}
		}
	}
	round() // makes the series
	until(b, "series are made", func() bool { return r.Stats().Samples == uint64(values) })
	before := cpu(b)
	for b.Loop() {
		round()
	}
	until(b, "packets are read", func() bool { return unread() == 0 })
	r.stop()
	b.StopTimer()
	st := r.Stats()
	b.ReportMetric(float64(b.N*values)/b.Elapsed().Seconds(), "values/s")
	b.ReportMetric((cpu(b)-before)*1e6/float64(b.N*values), "cpu-s/Mvalues")
	b.ReportMetric(1-float64(st.Values-lost(st))/float64((b.N+1)*values), "lost")
}

// cpu returns the seconds of processor time that this process has used.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// lost is what was read and not stored.
func lost(st receivers.Stats) uint64 {
	return st.Dropped[receivers.Late] + st.Dropped[receivers.State] + st.Dropped[receivers.Failed]
}
