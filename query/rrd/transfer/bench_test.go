package transfer_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdfile"
	"github.com/rondo-db/rondo/query/rrd/transfer"
	"github.com/rondo-db/rondo/rra"
)

// typical is the native file of a series as collectd's rrdtool plugin makes them, of 184 kB.
func typical(tb testing.TB, seed uint64) []byte {
	tb.Helper()
	args := []string{"DS:value:GAUGE:20:0:U"}
	for _, pdps := range []int{1, 7, 50, 223, 2635} {
		for _, cf := range []string{"AVERAGE", "MIN", "MAX"} {
			args = append(args, fmt.Sprintf("RRA:%s:0.1:%d:1510", cf, pdps))
		}
	}
	d, err := rra.ParseDefinition(10, args)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		tb.Fatal(err)
	}
	state := m.NewState(rra.Seconds(1_700_000_000))
	r := rand.New(rand.NewPCG(seed, 1))
	var texts []string
	for i := range int64(10) {
		v, err := rra.ParseValue(rra.Gauge, fmt.Sprint(i), &texts)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := m.Step(&state, rra.Seconds(1_700_000_000+10*(i+1)), []rra.Value{v}, nil, nil); err != nil {
			tb.Fatal(err)
		}
	}
	rows := make([][]float64, len(d.Archives))
	walk := 100.0
	for i := range rows {
		a := &d.Archives[i]
		if a.PDPs == 1 && i > 0 {
			rows[i] = rows[0]
			continue
		}
		for range a.Rows {
			walk = math.Abs(walk + r.NormFloat64())
			v := math.Round(walk*100) / 100
			if a.CF == rra.Average && a.PDPs > 1 {
				v = math.Round(walk*100*float64(a.PDPs)) / 100 / float64(a.PDPs)
			}
			rows[i] = append(rows[i], v)
		}
	}
	f, err := rrdfile.New(m, &state, rows)
	if err != nil {
		tb.Fatal(err)
	}
	b, err := f.AppendBinary(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// BenchmarkImport is the import of one typical file, read from a folder, into a store.
func BenchmarkImport(b *testing.B) {
	dir := b.TempDir()
	var names []string
	for i := range 64 {
		names = append(names, filepath.Join(dir, fmt.Sprint(i)))
		if err := os.WriteFile(names[i], typical(b, uint64(i)), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	s := enginetest.Open(b)
	items := make(chan transfer.Item)
	b.ReportAllocs()
	b.ResetTimer()
	go func() {
		defer close(items)
		for i := range b.N {
			items <- transfer.Item{Path: fmt.Sprintf("a/%d", i), Name: names[i%len(names)]}
		}
	}()
	n := 0
	err := transfer.Import(b.Context(), s, transfer.Options{Jobs: 2}, items, func(r transfer.Result) {
		if r.Err != nil {
			b.Error(r.Err)
		}
		n++
	})
	if err != nil || n != b.N {
		b.Fatal(n, err)
	}
}
