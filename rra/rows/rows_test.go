package rows

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// sameRows fails the test unless got is want, to the bit but for NaNs.
func sameRows(t testing.TB, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range want {
		g, w := math.Float64bits(got[i]), math.Float64bits(want[i])
		if want[i] != want[i] {
			w = math.Float64bits(math.NaN())
		}
		if g != w {
			t.Fatalf("row %d of %d: %x (%v), want %x (%v)", i, len(want), g, got[i], w, want[i])
		}
	}
}

// roundTrip codes rows behind other bytes and decodes them, whole and in part.
func roundTrip(t testing.TB, rows []float64, pdps int64, h *Hint) []byte {
	t.Helper()
	prefix := []byte("before")
	known := Hint{}
	if h != nil {
		known = *h
	}
	b := Append(prefix, rows, pdps, h)
	var c Coder
	for range 2 { // the second time with what it keeps
		again := known
		if got := c.Append([]byte("before"), rows, pdps, &again); !bytes.Equal(got, b) {
			t.Fatalf("a coder gives %x, Append %x", got, b)
		}
	}
	if string(b[:len(prefix)]) != "before" {
		t.Fatal("bytes before the strip changed")
	}
	seg := b[len(prefix):]
	most := 8*len(rows) + 9 + len(rows)/32
	if len(seg) > most {
		t.Fatalf("%d rows take %d bytes, more than %d", len(rows), len(seg), most)
	}
	behind := append(append([]byte{}, seg...), 0xa5, 0xff, 0x00)
	for _, src := range [][]byte{seg, behind} {
		got, used, err := Decode([]float64{-1}, src, len(rows), pdps)
		if err != nil || used != len(seg) {
			t.Fatalf("%d rows: used %d of %d bytes, %v; strip %x", len(rows), used, len(seg), err, seg)
		}
		sameRows(t, got[1:], rows)
	}
	n := len(rows)
	for _, r := range [][2]int{{0, n}, {0, n / 2}, {n / 3, n - n/3}, {n / 2, n}, {n, n}, {n / 2, n / 2}, {0, min(1, n)}} {
		got, _, err := DecodeRange(nil, seg, n, pdps, r[0], r[1])
		if err != nil {
			t.Fatalf("rows %d to %d of %d: %v", r[0], r[1], n, err)
		}
		sameRows(t, got, rows[r[0]:r[1]])
	}
	return seg
}

func TestWorkload(t *testing.T) {
	for _, w := range workloadRows() {
		series, _ := workload(w, 2, 150)
		for _, rows := range series {
			for _, n := range []int{1, 2, 7, 8, 32, 64, 128, 129, 150} {
				var h Hint
				for left := rows; len(left) > 0; left = left[min(n, len(left)):] {
					roundTrip(t, left[:min(n, len(left))], w.pdps, &h)
				}
			}
		}
	}
}

var oddRows = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, -0.1, 1e300, -1e300, 5e-324, -5e-324, 2.5e-310, math.MaxFloat64,
	math.Inf(1), math.Inf(-1), math.NaN(), math.Float64frombits(0xfff8000000000001), math.Float64frombits(0x7ff0000000000001),
	1 << 50, 1<<50 + 1, 1<<53 - 1, 1 << 53, 1<<53 + 2, 1 << 62, 1 << 63, -(1 << 50), -(1 << 63), 1.0 / 3, 2.0 / 3, 1e-9, 123456.78,
	math.Nextafter(0.1, 1), math.Nextafter(100, 0), 4294967295, 4294967296,
}

func TestOddValues(t *testing.T) {
	for _, x := range oddRows {
		for _, n := range []int{1, 2, 8, 32, 127, 128, 129, 1000} {
			rows := make([]float64, n)
			for i := range rows {
				rows[i] = x
			}
			if b := roundTrip(t, rows, 6, nil); len(b) > 9 {
				t.Errorf("%d rows of %v take %d bytes, want 9 at most", n, x, len(b))
			}
			for _, y := range oddRows { // one among many
				rows[n/2] = y
				roundTrip(t, rows, 6, nil)
			}
		}
	}
}

// mixed returns n rows out of stretches of every kind there is.
func mixed(r *rand.Rand, n int) []float64 {
	var rows []float64
	for len(rows) < n {
		k := 1 + r.IntN(n)
		if r.IntN(3) == 0 {
			k = 1 + r.IntN(3)
		}
		scale := math.Pow(10, float64(r.IntN(12)-4))
		v := math.Round(r.NormFloat64() * 1e4)
		kind := r.IntN(8)
		for range k {
			x := 0.0
			switch kind {
			case 0:
				x = math.NaN()
			case 1:
				x = math.Float64frombits(r.Uint64())
			case 2:
				x = oddRows[r.IntN(len(oddRows))]
			case 3:
				x = v / scale
			case 4:
				x = r.NormFloat64() * scale
			case 5:
				v += math.Round(r.NormFloat64() * 10)
				x = v * scale / 6
			case 6:
				v += 5
				x = math.Float64frombits(math.Float64bits(v/scale) + uint64(r.IntN(5)))
			case 7:
				v += math.Round(r.NormFloat64() * 10)
				x = v
			}
			rows = append(rows, x)
		}
	}
	return rows[:n]
}

func TestMixed(t *testing.T) {
	r := seedtest.Rand(t)
	var h Hint
	for range 4000 {
		n := 1 + r.IntN(1+r.IntN(300))
		roundTrip(t, mixed(r, n), []int64{1, 1, 5, 6, 60, 360, 0, -3, 1 << 40}[r.IntN(9)], &h)
	}
}

// Every strip cut short is refused.
func TestTruncated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		rows := mixed(r, 1+r.IntN(200))
		b := Append(nil, rows, 6, nil)
		for k := range b {
			got, used, err := Decode(nil, b[:k:k], len(rows), 6)
			if err == nil {
				t.Fatalf("%d of %d bytes decode to %d rows, used %d", k, len(b), len(got), used)
			}
			if len(got) != 0 {
				t.Fatalf("%d rows beside an error", len(got))
			}
		}
	}
}

func TestNone(t *testing.T) {
	if b := Append(nil, nil, 1, nil); len(b) != 0 {
		t.Fatalf("no rows take %d bytes", len(b))
	}
	if rows, used, err := Decode(nil, nil, 0, 1); len(rows) != 0 || used != 0 || err != nil {
		t.Fatalf("no rows decode to %d rows, %d used, %v", len(rows), used, err)
	}
	if _, _, err := Decode(nil, []byte{1}, -1, 1); err == nil {
		t.Fatal("a strip of -1 rows decodes")
	}
}

func TestNoAllocation(t *testing.T) {
	for _, w := range workloadRows() {
		series, _ := workload(w, 1, 64)
		dst, out := make([]byte, 0, 4096), make([]float64, 0, 64)
		var h Hint
		allocs := testing.AllocsPerRun(1, func() {
			for _, rows := range series {
				b := Append(dst, rows, w.pdps, &h)
				if _, _, err := Decode(out, b, len(rows), w.pdps); err != nil {
					t.Fatal(err)
				}
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations", w.name, allocs)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(4, 4))
	for i := range 40 {
		rows := mixed(r, 1+i*4)
		f.Add(Append(nil, rows, 6, nil), len(rows), int64(6))
	}
	f.Fuzz(func(t *testing.T, src []byte, n int, pdps int64) {
		n = int(uint(n) % 1000)
		out := make([]float64, 0, n)
		rows, used, err := Decode(out, src, n, pdps)
		sameAsPlain(t, src, n, pdps)
		if err != nil {
			if len(rows) != 0 || used != 0 {
				t.Fatalf("%d rows and %d bytes used beside %v", len(rows), used, err)
			}
			return
		}
		if len(rows) != n || used < 0 || used > len(src) || cap(rows) != cap(out) {
			t.Fatalf("%d rows of %d, %d bytes used of %d, room %d", len(rows), n, used, len(src), cap(rows))
		}
		roundTrip(t, rows, pdps, nil)
	})
}

func FuzzRoundTrip(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 5))
	for i := range 40 {
		var b []byte
		for _, x := range mixed(r, 1+i*4) {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
		}
		f.Add(b, int64(6), uint32(i*100))
	}
	f.Fuzz(func(t *testing.T, src []byte, pdps int64, scale uint32) {
		var rows []float64
		for ; len(src) >= 8; src = src[8:] {
			rows = append(rows, math.Float64frombits(binary.LittleEndian.Uint64(src)))
		}
		roundTrip(t, rows, pdps, &Hint{scale: scale})
	})
}
