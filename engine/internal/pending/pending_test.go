package pending

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/engine/internal/memory"
	"github.com/rondo-db/rondo/rra/rows"
)

// An added is rows that a test has added.
type added struct {
	column int
	first  uint32
	vals   []float64
}

// Rows come back as they were added, series by series, and the pool gets all of its memory back.
func TestRowsComeBackNewestFirst(t *testing.T) {
	var pool memory.Pool
	defer pool.Close()
	const series, pdps = 7, 6
	r := rand.New(rand.NewPCG(1, 2))
	var waiting Rows
	var coder rows.Coder
	waiting.Prepare(&pool, 2)
	waiting.Prepare(&pool, series)
	want := make([][]added, series)
	count := uint64(0)
	for n := range 2000 {
		i := r.IntN(series)
		a := added{column: r.IntN(300), first: r.Uint32(), vals: make([]float64, 1+r.IntN(40))}
		for j := range a.vals {
			a.vals[j] = float64(r.IntN(1000)) / 8
		}
		switch n % 3 {
		case 0:
			var hint rows.Hint
			waiting.Add(&coder, i, a.column, a.first, a.vals, pdps, &hint)
		case 1: // a run, longer than the short header can say
			a.vals = make([]float64, 200+r.IntN(3000))
			v := float64(r.IntN(10))
			for j := range a.vals {
				a.vals[j] = v
			}
			waiting.AddRun(i, a.column, a.first, len(a.vals), v, pdps)
		default:
			waiting.AddCoded(i, a.column, a.first, len(a.vals), rows.Append(nil, a.vals, pdps, nil))
		}
		want[i] = append(want[i], a)
		count += uint64(len(a.vals))
	}
	if got := waiting.Count(); got != count {
		t.Errorf("%d rows are counted, %d were added", got, count)
	}
	if got, used := waiting.Bytes(), pool.Used(); got <= 0 || got > used {
		t.Errorf("%d bytes are counted, %d are in use", got, used)
	}
	for i := range want {
		n := len(want[i])
		waiting.Each(i, 0, math.MaxInt, func(p Piece) bool {
			if n == 0 {
				t.Fatalf("series %d has more pieces than were added", i)
			}
			n--
			a := want[i][n]
			if p.Column != a.column || p.First != a.first || p.Rows != len(a.vals) {
				t.Fatalf("series %d, piece %d: column %d, first %d, %d rows; want %d, %d, %d", i, n, p.Column, p.First, p.Rows, a.column, a.first, len(a.vals))
			}
			got := decode(t, p, pdps)
			for j := range got {
				if math.Float64bits(got[j]) != math.Float64bits(a.vals[j]) {
					t.Fatalf("series %d, piece %d, row %d: %v, want %v", i, n, j, got[j], a.vals[j])
				}
			}
			return true
		})
		if n != 0 {
			t.Errorf("series %d: %d pieces are missing", i, n)
		}
		for _, first := range []int{0, 100, 250, 299} {
			of := slices.Clone(want[i])
			of = slices.DeleteFunc(of, func(a added) bool { return a.column < first || a.column >= first+20 })
			n := len(of)
			waiting.Each(i, first, 20, func(p Piece) bool {
				if n--; n < 0 || p.Column != of[n].column || p.First != of[n].first {
					t.Fatalf("series %d, columns from %d on: piece %d is %+v", i, first, n, p)
				}
				return true
			})
			if n != 0 {
				t.Errorf("series %d, columns from %d on: %d pieces are missing", i, first, n)
			}
		}
	}
	waiting.Free()
	if !waiting.Empty() || pool.Used() != 0 {
		t.Errorf("after Free: empty is %v, %d bytes in use", waiting.Empty(), pool.Used())
	}
}

func decode(t *testing.T, p Piece, pdps int64) (vals []float64) {
	t.Helper()
	if v, _, ok := rows.RunOf(p.Code, pdps); ok {
		for range p.Rows {
			vals = append(vals, v)
		}
		return vals
	}
	vals, used, err := rows.Decode(nil, p.Code, p.Rows, pdps)
	if err != nil || used != len(p.Code) {
		t.Fatalf("%d bytes of %d decoded: %v", used, len(p.Code), err)
	}
	return vals
}

// A walk ends where the caller has seen enough; series without rows, known or not, have no pieces.
func TestEachStops(t *testing.T) {
	var pool memory.Pool
	defer pool.Close()
	var waiting Rows
	defer waiting.Free()
	waiting.Prepare(&pool, 2)
	for n := range 5 {
		waiting.AddRun(1, 0, uint32(n), 1, 1, 1)
	}
	seen := 0
	waiting.Each(1, 0, math.MaxInt, func(Piece) bool { seen++; return seen < 3 })
	if seen != 3 {
		t.Errorf("%d pieces after the walk should have ended, want 3", seen)
	}
	for _, i := range []int{0, 2, 99} {
		waiting.Each(i, 0, math.MaxInt, func(Piece) bool { t.Errorf("series %d has a piece", i); return false })
	}
}

// Headers of 13 bytes were larger than the coded rows behind them.
func TestHeadersAreShort(t *testing.T) {
	var pool memory.Pool
	defer pool.Close()
	const series, rounds = 256, 20
	var waiting Rows
	defer waiting.Free()
	waiting.Prepare(&pool, series)
	code := rows.AppendRun(nil, 1, 1)
	for n := range rounds {
		for i := range series {
			waiting.AddCoded(i, n%5, math.MaxUint32-40+uint32(8*n), 8, code) // row numbers overflow in between
		}
	}
	if got, want := waiting.Bytes(), int64(series*rounds*(shortHeader+len(code))); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	for i := range series {
		n := rounds
		waiting.Each(i, 0, math.MaxInt, func(p Piece) bool {
			n--
			if p.Column != n%5 || p.First != math.MaxUint32-40+uint32(8*n) || p.Rows != 8 || string(p.Code) != string(code) {
				t.Fatalf("series %d, piece %d is %+v", i, n, p)
			}
			return true
		})
		if n != 0 {
			t.Fatalf("series %d: %d pieces are missing", i, n)
		}
	}
}

// Each field of a short header holds its least and its largest value, and the value behind is in a
// long header.
func TestHeadersAtTheirLimits(t *testing.T) {
	var pool memory.Pool
	defer pool.Close()
	const first = 1 << 20
	for _, c := range []struct {
		name               string
		rows, column, size int
		first              uint32
		between            int // chunks between this piece and the one before it
		header             int
	}{
		{"one row", 1, 0, 1, first, 0, shortHeader},
		{"255 rows", 255, 0, 1, first, 0, shortHeader},
		{"256 rows", 256, 0, 1, first, 0, longHeader},
		{"column 255", 8, 255, 1, first, 0, shortHeader},
		{"column 256", 8, 256, 1, first, 0, longHeader},
		{"255 bytes", 8, 0, 255, first, 0, shortHeader},
		{"256 bytes", 8, 0, 256, first, 0, longHeader},
		{"far before", 8, 0, 1, first + 1 - 1<<15, 0, shortHeader},
		{"too far before", 8, 0, 1, first - 1<<15, 0, longHeader},
		{"far behind", 8, 0, 1, first + 1<<15, 0, shortHeader},
		{"too far behind", 8, 0, 1, first + 1<<15 + 1, 0, longHeader},
		{"many bytes between", 8, 0, 1, first, 6, shortHeader},
		{"too many bytes between", 8, 0, 1, first, 7, longHeader},
	} {
		t.Run(c.name, func(t *testing.T) {
			var waiting Rows
			defer waiting.Free()
			waiting.Prepare(&pool, 2)
			waiting.AddCoded(0, 0, first, 8, []byte{1}) // sets the base of column 0
			for range c.between {
				waiting.AddCoded(1, 1, 1, 8, make([]byte, ChunkSize-longHeader))
			}
			code := make([]byte, c.size)
			for i := range code {
				code[i] = byte(i)
			}
			before := waiting.Bytes()
			waiting.AddCoded(0, c.column, c.first, c.rows, code)
			if got := int(waiting.Bytes()-before) - len(code); got != c.header {
				t.Errorf("a header of %d bytes, want %d", got, c.header)
			}
			var pieces []Piece
			waiting.Each(0, 0, math.MaxInt, func(p Piece) bool { pieces = append(pieces, p); return true })
			if len(pieces) != 2 {
				t.Fatalf("%d pieces, want 2", len(pieces))
			}
			if p := pieces[0]; p.Column != c.column || p.First != c.first || p.Rows != c.rows || string(p.Code) != string(code) {
				t.Errorf("the piece is %+v", p)
			}
			if p := pieces[1]; p.Column != 0 || p.First != first || p.Rows != 8 || string(p.Code) != "\x01" {
				t.Errorf("the piece before it is %+v", p)
			}
		})
	}
}
