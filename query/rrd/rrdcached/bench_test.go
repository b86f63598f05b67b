package rrdcached_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/rra"
)

// fiveArchives is what rrdcached was measured with.
func fiveArchives(t testing.TB) *rra.Definition {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{
		"DS:value:GAUGE:600:U:U", "RRA:AVERAGE:0.5:1:1440", "RRA:AVERAGE:0.5:6:1440",
		"RRA:AVERAGE:0.5:60:1008", "RRA:MAX:0.5:6:1440", "RRA:MAX:0.5:60:1008",
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// load makes n series and returns their names.
func load(t testing.TB, s *core.Store, n int) []string {
	t.Helper()
	d := fiveArchives(t)
	specs := make([]core.Spec, n)
	names := make([]string, n)
	for i := range specs {
		names[i] = fmt.Sprintf("host%03d/metric-%02d/gauge.rrd", i/100, i%100)
		specs[i] = core.Spec{Path: names[i], Definition: d, Start: rra.Seconds(1_700_000_000)}
	}
	out, err := s.CreateBatch(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out {
		if c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	return names
}

// BenchmarkUpdate sends a round of one value of every series an operation, in a BATCH or as
// requests of their own.
func BenchmarkUpdate(b *testing.B) {
	const series = 20_000
	for _, batch := range []bool{true, false} {
		b.Run(fmt.Sprintf("batch=%v/series=%d", batch, series), func(b *testing.B) {
			store := enginetest.OpenDir(b, b.TempDir(), core.Options{})
			names := load(b, store, series)
			s := serve(b, rrdcached.Options{Store: store}, 0)
			p := dial(b, s.addr)
			round := int64(0)
			var text strings.Builder
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				round++
				text.Reset()
				if batch {
					text.WriteString("BATCH\n")
				}
				for i, name := range names {
					fmt.Fprintf(&text, "UPDATE %s %d:%d.%02d\n", name, 1_700_000_000+10*round, (int64(i)*7+round*13)%100, (round*3+int64(i))%99+1)
				}
				if batch {
					text.WriteString(".\n")
				}
				b.StartTimer()
				if batch {
					p.send(text.String())
					p.line()
					if got := p.line(); got != "0 errors\n" {
						b.Fatal(got)
					}
					continue
				}
				done := make(chan int)
				go func() {
					for range names {
						p.line()
					}
					close(done)
				}()
				p.send(text.String())
				<-done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/update")
		})
	}
}

// BenchmarkFetch asks for an hour of every one of some series, one after the other and all at once.
func BenchmarkFetch(b *testing.B) {
	const series = 1000
	store := enginetest.OpenDir(b, b.TempDir(), core.Options{})
	names := load(b, store, series)
	var batch core.Batch
	refs := make([]core.Ref, series)
	for i, name := range names {
		var err error
		if refs[i], err = store.Lookup(name); err != nil {
			b.Fatal(err)
		}
	}
	for k := range 720 {
		batch.Reset()
		for i, ref := range refs {
			batch.Add(ref, rra.Seconds(1_700_000_000+10*int64(k+1)), rra.Float(float64(i+k)/8))
		}
		if err := store.Append(b.Context(), &batch); err != nil {
			b.Fatal(err)
		}
	}
	s := serve(b, rrdcached.Options{Store: store}, 0)
	p := dial(b, s.addr)
	var all strings.Builder
	for _, name := range names {
		fmt.Fprintf(&all, "FETCH %s AVERAGE 1700003000 1700003599\n", name)
	}
	b.Run("series=1", func(b *testing.B) {
		for b.Loop() {
			p.ask("FETCH " + names[17] + " AVERAGE 1700003000 1700003599")
		}
	})
	b.Run("series=1000", func(b *testing.B) {
		go p.send(all.String())
		size := int64(0)
		for range series {
			size += int64(len(p.answer()))
		}
		b.SetBytes(size)
		for b.Loop() {
			go p.send(all.String())
			if _, err := io.CopyN(io.Discard, p.r, size); err != nil {
				b.Fatal(err)
			}
		}
	})
}
