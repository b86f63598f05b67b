package rrdd

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/rra"
)

// host is a file as xcp-rrdd's plugins write it: counters of virtual machines, gauges of the host.
func host(version, sources, n int) *File {
	f := &File{Version: version, Timestamp: float64(1_700_000_000 + 5*n)}
	for i := range sources {
		s := Source{Name: fmt.Sprintf("cpu%d", i), Type: Derive, Owner: VM, UUID: fmt.Sprintf("5f6c1a9e-0000-4000-8000-%012d", i/8), Units: "(fraction)", Description: "Physical cpu usage", Min: 0, Max: 1, Default: true}
		v := rra.Float(float64(n) + float64(i)/7)
		if i%2 == 0 {
			s.Name, s.Type, s.ValueType = fmt.Sprintf("memory%d", i), Gauge, Int64
			v = rra.Int(int64(n)<<20 + int64(i))
		}
		f.Sources, f.Values = append(f.Sources, s), append(f.Values, v)
	}
	return f
}

// contents returns what a file of so many data sources holds at some turns.
func contents(b testing.TB, version, sources int) (out [][]byte) {
	for n := range 8 {
		out = append(out, encode(b, host(version, sources, n)))
	}
	return out
}

// a memory is a file whose content is changed without a cost.
type memory struct{ b []byte }

func (m *memory) ReadAt(p []byte, at int64) (int, error) { return copy(p, m.b[at:]), nil }

// BenchmarkRead is one turn's reading of a file: change=none is what did not change, change=values
// a file whose metadata is known.
func BenchmarkRead(b *testing.B) {
	for _, version := range []int{1, 2} {
		for _, sources := range []int{10, 1000} {
			files := contents(b, version, sources)
			for _, change := range []string{"none", "values"} {
				b.Run(fmt.Sprintf("version=%d/sources=%d/change=%s", version, sources, change), func(b *testing.B) {
					r, m := new(Reader), &memory{files[0]}
					for i := range files { // what is needed once
						m.b = files[i]
						if _, err := r.Read(m, int64(len(m.b))); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportAllocs()
					i := 0
					for b.Loop() {
						if change == "values" {
							m.b = files[i%len(files)]
						}
						i++
						if updated, err := r.Read(m, int64(len(m.b))); err != nil || updated != (change == "values") {
							b.Fatal(updated, err)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sources), "ns/value")
				})
			}
		}
	}
}

// BenchmarkTurn is all of a receiver but the store, with the file in place: find it, read it, add
// its values to a batch.
func BenchmarkTurn(b *testing.B) {
	const sources = 1000
	for _, version := range []int{1, 2} {
		b.Run(fmt.Sprintf("version=%d/sources=%d", version, sources), func(b *testing.B) {
			files := contents(b, version, sources)
			dir := b.TempDir()
			f, err := os.Create(filepath.Join(dir, "p"))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = f.Close() }() // read
			s, err := newServer(receivers.Config{Address: dir, MaxFuture: -1}, new(receivertest.Nowhere))
			if err != nil {
				b.Fatal(err)
			}
			s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
			defer s.queue.Stop()
			i := 0
			step := func() {
				if _, err := f.WriteAt(files[i%len(files)], 0); err != nil {
					b.Fatal(err)
				}
				i++
				s.turn(context.Background())
				s.queue.Flush()
			}
			step()
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sources), "ns/value")
			if st := s.Stats(); st.Samples != uint64(i*sources) {
				b.Fatalf("%d turns: %+v", i, st)
			}
		})
	}
}

// TestReadAllocates: a reader that has read a file allocates nothing for the next content of it.
func TestReadAllocates(t *testing.T) {
	for _, version := range []int{1, 2} {
		files := contents(t, version, 100)
		r, m := new(Reader), new(memory)
		i := 0
		read := func() {
			m.b = files[i%len(files)]
			i++
			if updated, err := r.Read(m, int64(len(m.b))); !updated || err != nil {
				t.Fatal(updated, err)
			}
		}
		for range files {
			read()
		}
		if n := testing.AllocsPerRun(100, read); n > 0 {
			t.Errorf("version %d: %v allocations a read, want none", version, n)
		}
	}
}

// TestTurnAllocates: what a turn allocates does not grow with the values.
func TestTurnAllocates(t *testing.T) {
	for _, version := range []int{1, 2} {
		var allocs []float64
		for _, sources := range []int{10, 1000} {
			files := contents(t, version, sources)
			dir := t.TempDir()
			w := Writer{Path: filepath.Join(dir, "p")}
			if err := w.Write(host(version, sources, 0)); err != nil {
				t.Fatal(err)
			}
			f := w.file
			s, err := newServer(receivers.Config{Address: dir, MaxFuture: -1, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}, new(receivertest.Nowhere))
			if err != nil {
				t.Fatal(err)
			}
			s.queue = receivers.NewQueue(s.sink, &s.Counters, s.cfg)
			i := 0
			step := func() {
				if _, err := f.WriteAt(files[i%len(files)], 0); err != nil {
					t.Fatal(err)
				}
				i++
				s.turn(context.Background())
			}
			for range files {
				step()
			}
			allocs = append(allocs, testing.AllocsPerRun(50, step))
			s.queue.Stop()
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if math.Abs(allocs[1]-allocs[0]) > 20 { // a batch grows now and then
			t.Errorf("version %d: turns of 10 and of 1000 values allocate %v times", version, allocs)
		}
		t.Logf("version %d: %v allocations a turn", version, allocs)
	}
}
