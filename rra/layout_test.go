package rra_test

import (
	"slices"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// A machine of a shape alone lays states out as that of the definition.
func TestLayoutOfShape(t *testing.T) {
	for _, args := range [][]string{
		{"DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:100"},
		{"DS:a:COUNTER:20:0:5", "DS:b:COMPUTE:a,2,*", "DS:c:DCOUNTER:7:U:U", "RRA:MAX:0.5:6:100", "RRA:LAST:0.5:1:10", "RRA:MIN:0.1:1:400"},
		{"DS:a:GAUGE:20:U:U", "RRA:HWPREDICT:60:0.1:0.1:5"},
		{"DS:a:GAUGE:20:U:U", "DS:b:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:9", "RRA:MHWPREDICT:60:0.1:0.1:5:3", "RRA:SEASONAL:5:0.1:2", "RRA:DEVSEASONAL:5:0.1:2", "RRA:DEVPREDICT:60:4", "RRA:FAILURES:60:3:5:4"},
	} {
		d, err := rra.ParseDefinition(10, args)
		if err != nil {
			t.Fatal(err)
		}
		for own := range 2 {
			d.Archives[0].Own = own == 1 && d.Archives[0].CF <= rra.Last && d.Archives[0].PDPs == 1
			want, err := rra.Compile(d)
			if err != nil {
				t.Fatal(err)
			}
			got, err := rra.LayoutOf(want.Shape())
			if err != nil {
				t.Errorf("%q: %v", want.Shape(), err)
				continue
			}
			w := make([]uint64, want.Words())
			want.Init(w, rra.Seconds(1_000_000_000))
			same := slices.EqualFunc(got.Streams(), want.Streams(), func(a, b rra.Stream) bool {
				return a.PDPs == b.PDPs && a.Rows == b.Rows && slices.Equal(a.Archives, b.Archives)
			})
			if !same || got.Words() != want.Words() || got.Seasonal() != want.Seasonal() || got.LastUpdate(w) != want.LastUpdate(w) {
				t.Errorf("%q: %d words, want %d; streams %+v, want %+v", want.Shape(), got.Words(), want.Words(), got.Streams(), want.Streams())
			}
		}
	}
	for _, shape := range []string{"", "10", "10/1", "10/0/0:1:5", "10/1/0:1:5x", "10/-1/0:1:5", "10/1/4:1:60", "1/99999999/0:1:5", "10/1/0:1:05"} {
		if _, err := rra.LayoutOf(shape); err == nil {
			t.Errorf("%q has a layout", shape)
		}
	}
}
