package rowblock

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// An Arranger that is used for one group after the other gives the blocks that a new one gives, and
// holds on to no coded rows.
func TestArrangerIsUsedAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var again Arranger
	for group := range 20 {
		streams, series, sources := 1+r.IntN(5), 1+r.IntN(30), 1+r.IntN(3)
		var fresh Arranger
		fresh.Reset(streams, series, sources)
		again.Reset(streams, series, sources)
		for i, b := range again.spare {
			if slices.ContainsFunc(b[:cap(b)], func(s Strip) bool { return s.Data != nil }) {
				t.Fatalf("group %d: spare strips %d hold coded rows", group, i)
			}
		}
		for column := range series * sources {
			for range r.IntN(10) {
				stream, slot := r.IntN(streams), int64(r.IntN(30)-5)
				s := Strip{Column: column, Skip: r.IntN(99), Rows: 1, Data: []byte{1}}
				fresh.Add(stream, slot, s)
				again.Add(stream, slot, s)
			}
		}
		got, want := again.Blocks(), fresh.Blocks()
		if len(got) != len(want) {
			t.Fatalf("group %d: %d blocks, want %d", group, len(got), len(want))
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("group %d, block %d: %+v, want %+v", group, i, got[i], want[i])
			}
		}
		_ = slices.DeleteFunc(got, func(NewBlock) bool { return r.IntN(4) == 0 }) // as a checkpoint does
	}
}
