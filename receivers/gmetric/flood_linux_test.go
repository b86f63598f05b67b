package gmetric

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
)

// BenchmarkFlood sends 20,000 metrics over loopback, as fast as they are read, into a sink that
// keeps nothing and into a store that acknowledges after fdatasync: metadata and value of each in
// turn, as the gmetric command does, and values only, as gmond does.
func BenchmarkFlood(b *testing.B) {
	for _, gmond := range []bool{false, true} {
		b.Run(fmt.Sprintf("sink=none/gmond=%t", gmond), func(b *testing.B) { flood(b, new(receivertest.Nowhere), gmond) })
		b.Run(fmt.Sprintf("sink=store/gmond=%t", gmond), func(b *testing.B) {
			store, err := core.Open(b.TempDir(), core.Options{})
			if err != nil {
				b.Fatal(err)
			}
			flood(b, sink.New(store, sink.Options{}), gmond)
			st := store.Stats()
			b.ReportMetric(float64(st.SamplesLate+st.SamplesRefused), "refused")
			if err := store.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

const (
	floodMetrics = 20_000
	window       = 1000 // datagrams that may be unread: fewer than a socket's buffer of 4 MiB holds
	together     = 64   // datagrams sent with one system call,
	size         = 256  // padded to this size: what follows a message does not count
)

// grouped sets datagrams one after the other, as many as the system cuts into datagrams again.
// Sending each by itself costs more than all of the receiving.
func grouped(packets [][]byte) (groups [][]byte) {
	for len(packets) > 0 {
		n := min(together, len(packets))
		g := make([]byte, n*size)
		for i, p := range packets[:n] {
			copy(g[i*size:], p)
		}
		groups, packets = append(groups, g), packets[n:]
	}
	return groups
}

// segment has the system cut what is written to conn into datagrams of size.
func segment(b *testing.B, conn *net.UDPConn) {
	b.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		b.Fatal(err)
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size) }); err != nil {
		b.Fatal(err)
	}
	if failed != nil {
		b.Skip(failed)
	}
}

func flood(b *testing.B, sink receivers.Sink, gmond bool) {
	packets := workload(b, floodMetrics, gmond)
	var clock atomic.Int64
	clock.Store(began)
	r, err := newServer(receivers.Config{
		Address: "127.0.0.1:0", Now: func() time.Time { return time.Unix(clock.Load(), 0) },
	}, sink)
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
	segment(b, conn.(*net.UDPConn))
	sent := uint64(0)
	unread := func() uint64 { s := r.Stats(); return sent - s.Packets - s.KernelDropped }
	round := func(packets [][]byte) {
		for _, p := range packets {
			if _, err := conn.Write(p); err != nil {
				b.Fatal(err)
			}
			if sent += uint64(len(p) / size); unread() >= window {
				until(b, "datagrams are read", func() bool { return unread() < window })
			}
		}
		until(b, "datagrams are read", func() bool { return unread() == 0 })
		clock.Add(gmetadStep)
	}
	round(grouped(packets))
	until(b, "series are made", func() bool { return r.Stats().Samples == floodMetrics })
	if gmond {
		var values [][]byte
		for i := 1; i < len(packets); i += 2 {
			values = append(values, packets[i])
		}
		packets = values
	}
	groups := grouped(packets)
	before := cpu(b)
	for b.Loop() {
		round(groups)
	}
	cancel()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	_ = conn.Close() // all was sent
	st := r.Stats()
	total := float64(b.N * floodMetrics)
	b.ReportMetric(total/b.Elapsed().Seconds(), "metrics/s")
	b.ReportMetric((cpu(b)-before)*1e6/total, "cpu-s/Mmetrics")
	lost := st.Dropped[receivers.Late] + st.Dropped[receivers.State] + st.Dropped[receivers.Failed]
	b.ReportMetric(1-float64(st.Samples-lost)/float64((b.N+1)*floodMetrics), "lost")
}

// cpu returns the seconds of processor time that this process, the sender in it, has used.
func cpu(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
