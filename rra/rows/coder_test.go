package rows

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// A Coder that has coded other strips before gives the bytes of Append, and learns the same.
func TestCoderIsAppend(t *testing.T) {
	r := seedtest.Rand(t)
	var c Coder
	same := func(rows []float64, pdps int64, h *Hint) {
		t.Helper()
		h2 := *h
		got := c.Append(nil, rows, pdps, &h2)
		if want := Append(nil, rows, pdps, h); !bytes.Equal(got, want) || h2 != *h {
			t.Fatalf("%d rows, %d PDPs: a coder gives %x and learns %d, Append gives %x and learns %d", len(rows), pdps, got, h2.scale, want, h.scale)
		}
	}
	for _, w := range workloadRows() {
		series, _ := workload(w, 2, 64)
		for _, n := range []int{8, 32} {
			for _, rows := range series {
				var h Hint
				for at := 0; at < len(rows); at += n {
					same(rows[at:at+n], w.pdps, &h)
				}
			}
		}
	}
	var h Hint
	for range 4000 {
		n := 1 + r.IntN(1+r.IntN(300))
		if r.IntN(4) == 0 {
			h.scale = r.Uint32() >> r.IntN(32)
		}
		same(mixed(r, n), []int64{1, 5, 6, 7, 60, 223, 360, 2635, 1517, 0, -3, 1 << 40}[r.IntN(12)], &h)
	}
	if got, want := c.Append(nil, []float64{1, 2.5}, 1, nil), Append(nil, []float64{1, 2.5}, 1, nil); !bytes.Equal(got, want) {
		t.Errorf("without a hint a coder gives %x, Append %x", got, want)
	}
}

// A note about a scale says that it is reduced if and only if its greatest common divisor with the
// integers is 1, as long as its factors are known.
func TestScaleNotes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var notes scaleNotes
	known := 0
	for range 200_000 {
		m := uint64(1 + r.Uint32N(math.MaxUint32)>>r.IntN(32))
		if r.IntN(2) == 0 {
			m = scaleFactors[r.IntN(12)] * scalePowers[r.IntN(5)] * uint64(1+r.IntN(400))
		}
		q := make([]int64, 1+r.IntN(12))
		by := int64(1)
		if r.IntN(3) > 0 {
			by = []int64{2, 3, 5, 7, 11, 13, 25, 31, 37, 223, 1369}[r.IntN(11)]
		}
		for i := range q {
			q[i] = r.Int64N(2*maxInteger/by)*by - maxInteger/by*by
			if r.IntN(3) == 0 {
				q[i] = by * r.Int64N(10)
			}
		}
		n := notes.of(m, 6)
		if n.m != m || n.code != scaleCode(m, 6) {
			t.Fatalf("the note of scale %d is of %d, with the code %d", m, n.m, n.code)
		}
		want := divisor(m, q) == 1
		if got := n.reduced(q); got && !want || want && !got && n.factors >= 0 {
			t.Fatalf("scale %d, integers %v: reduced is %v, their divisor is %d", m, q, got, divisor(m, q))
		}
		if n.factors > 0 {
			known++
		}
	}
	if known < 20_000 {
		t.Errorf("of only %d scales with odd factors all are known", known)
	}
}
