package collectd

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

// BenchmarkFlood sends packets over loopback as fast as they are read, with a window so that the
// sender does not run ahead of the socket's buffer, into a sink that keeps nothing.
func BenchmarkFlood(b *testing.B) {
	packets, values := workload(b, 20_000, "")
	sink := new(nowhere)
	r, err := Protocol.New(receivers.Config{Address: "127.0.0.1:0", MaxFuture: -1}, sink)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Serve(ctx) }()
	conn, err := net.Dial("udp", r.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	sent := uint64(0)
	read := func() uint64 { s := r.Stats(); return s.Packets + s.KernelDropped }
	b.ReportAllocs()
	for b.Loop() {
		for _, p := range packets {
			if _, err := conn.Write(p); err != nil {
				b.Fatal(err)
			}
			if sent++; sent%64 == 0 {
				for sent > read()+1024 {
					runtime.Gosched() // a sender that paces itself
				}
			}
		}
	}
	end := time.Now().Add(5 * time.Second)
	for read() < sent && time.Now().Before(end) {
		runtime.Gosched()
	}
	b.StopTimer()
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	st := r.Stats()
	b.ReportMetric(float64(b.N*values)/b.Elapsed().Seconds(), "values/s")
	if lost := sent - st.Packets; lost > sent/1000 {
		b.Error(fmt.Sprintf("%d of %d packets lost, %d counted", lost, sent, st.KernelDropped))
	}
	if st.Values != st.Samples || st.Values == 0 {
		b.Errorf("stats %+v", st)
	}
}
