package rrdcached

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// BenchmarkParse reads UPDATE lines of names that are known into bursts.
func BenchmarkParse(b *testing.B) {
	gauge, counter := rra.DataSource{Kind: rra.Gauge}, rra.DataSource{Kind: rra.Counter}
	for _, test := range []struct {
		name    string
		sources []rra.DataSource
		reading func(i int) string
	}{
		{"hundredth", []rra.DataSource{gauge}, func(i int) string { return fmt.Sprintf("%d.%02d", i*7%100, i%99+1) }},
		{"17digits", []rra.DataSource{gauge}, func(i int) string { return fmt.Sprintf("%.17g", 1/float64(i+2)) }},
		{"exponent", []rra.DataSource{gauge}, func(i int) string { return fmt.Sprintf("%e", 1e5/float64(i+2)) }},
		{"2counters", []rra.DataSource{counter, counter}, func(i int) string { return fmt.Sprintf("%d:%d", 12345678901+i, 9876543210987+i) }},
	} {
		b.Run("reading="+test.name, func(b *testing.B) { benchmarkParse(b, test.sources, test.reading) })
	}
}

func benchmarkParse(b *testing.B, sources []rra.DataSource, reading func(i int) string) {
	const series = 20_000
	store, err := core.Open(b.TempDir(), core.Options{NoBackground: true})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }() // nothing is in it
	s, err := New(Options{Store: store, Base: "/b"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.cache.most = func() int { return 1 << 30 }
	d := &rra.Definition{Sources: sources}
	var text []byte
	for i := range series {
		name := fmt.Sprintf("host%03d/metric-%02d/gauge.rrd", i/100, i%100)
		s.cache.put(0, []byte(name), name, core.Ref(1<<32+uint64(i)), d)
		text = fmt.Appendf(text, "UPDATE %s 1700000010:%s\n", name, reading(i))
	}
	c := &conn{s: s}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for rest := text; len(rest) > 0; {
			part := rest[:bytes.LastIndexByte(rest[:min(250<<10, len(rest))], '\n')+1] // whole lines
			rest = rest[len(part):]
			c.buf, c.from, c.to = part, 0, len(part)
			c.parse()
			s.putBurst(c.burst)
			c.burst = nil
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/line")
}
