package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/natstest"
	"github.com/rondo-db/rondo/wal"
	log "github.com/rondo-db/rondo/wal/jetstream"
	"github.com/rondo-db/rondo/wal/stream"
)

// The benchmarks append records as a store does under load: samples a record, of recordBytes.
const (
	samples     = 1000
	recordBytes = 6000
)

// cpu returns the CPU seconds of this process, and of the servers.
func cpu(b *testing.B, c *natstest.Cluster) (own, servers float64) {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	own = time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
	for _, n := range c.Nodes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.PID()))
		if err != nil {
			b.Fatal(err)
		}
		f := strings.Fields(string(text[strings.LastIndex(string(text), ")")+1:]))
		for _, s := range f[11:13] { // user and system time, in hundredths of a second
			ticks, err := strconv.ParseFloat(s, 64)
			if err != nil {
				b.Fatal(err)
			}
			servers += ticks / 100
		}
	}
	return own, servers
}

// report reports rates and CPU time.
func report(b *testing.B, c *natstest.Cluster, own, servers float64) {
	o, s := cpu(b, c)
	million := float64(b.N) * samples / 1e6
	b.ReportMetric(million/b.Elapsed().Seconds(), "Msamples/s")
	b.ReportMetric((o-own)/million*1e3, "own-cpu-ms/Msample")
	b.ReportMetric((s-servers)/million*1e3, "servers-cpu-ms/Msample")
}

// acks are the times from a record to its acknowledgement.
type acks struct {
	mu   sync.Mutex // guards what follows
	sent []time.Time
	took []time.Duration
	told int // blocks of records, a message each
	err  error
}

func (a *acks) tell(first, last wal.Pos, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told++
	a.err = errors.Join(a.err, err)
	now := time.Now()
	for range last - first + 1 {
		a.took = append(a.took, now.Sub(a.sent[len(a.took)]))
	}
}

// BenchmarkLog appends records of a thousand samples to a stream on three servers that sync always:
// as many as the log takes, and a million and a half samples a second. Then a reader catches up.
//
//	go test -run '^$' -bench Log -benchtime 20000x ./wal/jetstream
func BenchmarkLog(b *testing.B) {
	c := natstest.Three(b)
	o := options{Options: log.Options{URL: c.URLs(), Monitor: c.Monitors(), MaxBytes: 1 << 30}}
	b.Run("load=full", func(b *testing.B) { appendRecords(b, c, o, 0) })
	b.Run("load=half", func(b *testing.B) { appendRecords(b, c, o, 1.5) })
	b.Run("load=read", func(b *testing.B) { catchUp(b, c, o) })
}

// openOne opens a log in a stream of its own.
func openOne(b *testing.B, o options, how stream.Options) (*stream.Log, string) {
	b.Helper()
	o.Stream, o.Log = fmt.Sprintf("log%d", time.Now().UnixNano()), how
	return openAmong(b, o), o.Stream
}

// someRecords returns records that do not compress.
func someRecords() [][]byte {
	r := rand.NewChaCha8([32]byte{1})
	recs := make([][]byte, 64)
	for i := range recs {
		recs[i] = make([]byte, recordBytes)
		_, _ = r.Read(recs[i]) // never fails
	}
	return recs
}

// appendRecords appends b.N records, pace million samples a second; 0: as many as the log takes.
func appendRecords(b *testing.B, c *natstest.Cluster, o options, pace float64) {
	a := &acks{}
	l, _ := openOne(b, o, stream.Options{OnDurable: a.tell})
	recs := someRecords()
	own, servers := cpu(b, c)
	b.SetBytes(recordBytes)
	b.ResetTimer()
	began := time.Now()
	for i := range b.N {
		due := time.Now()
		if pace > 0 {
			due = began.Add(time.Duration(float64(i) * samples / pace * 1e3))
			if wait := time.Until(due); wait > time.Millisecond {
				time.Sleep(wait)
			}
		}
		a.mu.Lock()
		a.sent = append(a.sent, due)
		a.mu.Unlock()
		if _, err := l.Enqueue(recs[i%len(recs)]); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := l.Barrier(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	report(b, c, own, servers)
	if a.err != nil {
		b.Error(a.err)
	}
	slices.Sort(a.took)
	b.ReportMetric(float64(b.N)*samples/float64(a.told), "samples/message")
	b.ReportMetric(a.took[len(a.took)/2].Seconds()*1e3, "p50-ms")
	b.ReportMetric(a.took[len(a.took)*99/100].Seconds()*1e3, "p99-ms")
}

// catchUp reads b.N records.
func catchUp(b *testing.B, c *natstest.Cluster, o options) {
	l, name := openOne(b, o, stream.Options{})
	for i, recs := 0, someRecords(); i < b.N; i++ {
		if _, err := l.Enqueue(recs[i%len(recs)]); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := l.Barrier(b.Context()); err != nil {
		b.Fatal(err)
	}
	o.Stream = name
	r, err := openReader(b, o, stream.ReaderOptions{})
	if err != nil {
		b.Fatal(err)
	}
	own, servers := cpu(b, c)
	b.SetBytes(recordBytes)
	b.ResetTimer()
	ctx, enough := context.WithCancel(b.Context())
	err = r.Tail(ctx, 1, func(p wal.Pos, _ []byte) error {
		if p == wal.Pos(b.N) {
			enough()
		}
		return nil
	})
	b.StopTimer()
	if !errors.Is(err, context.Canceled) {
		b.Error(err)
	}
	report(b, c, own, servers)
	if err := r.Close(); err != nil {
		b.Error(err)
	}
}
