package record

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/rra"
)

// randomValue makes a value of any tag; neighbours of one sequence are often alike.
func randomValue(r *rand.Rand, last uint64, texts *[]string) rra.Value {
	pick := func(of ...float64) float64 { return of[r.IntN(len(of))] }
	switch r.IntN(17) {
	case 13, 14: // neighbours mostly differ in their digits alone
		v := last + uint64(r.Int64N(2000)-1000)<<rra.PlacesBits
		return rra.Value{Bits: v, Tag: rra.TagDecimal}
	case 15:
		return rra.Value{Bits: r.Uint64(), Tag: []rra.Tag{rra.TagDecimal, rra.TagExponent}[r.IntN(2)]}
	case 0:
		return rra.Unknown
	case 1, 2:
		return rra.Int(int64(last) + r.Int64N(1000) - 500)
	case 3:
		return rra.Int(int64(r.Uint64()))
	case 4, 5:
		return rra.Uint(last + r.Uint64N(1000))
	case 6:
		return rra.Uint(r.Uint64())
	case 7:
		return rra.Float(float64(r.Int64N(1<<54) - 1<<53))
	case 8:
		return rra.Float(float64(r.Int64N(1<<54)-1<<53) / 100)
	case 9:
		return rra.Float(float64(r.IntN(2000)-1000) / 100)
	case 10:
		return rra.Float(math.Float64frombits(r.Uint64()))
	case 11:
		return rra.Float(math.Float64frombits(last ^ 1<<r.IntN(64)))
	case 12:
		return rra.Float(pick(0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), -1, 1<<53, 1-(1<<53),
			math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, math.MaxFloat64, -1<<63, 1<<63, -0.004, 0.004, -0.01))
	}
	*texts = append(*texts, "text "+strconv.Itoa(r.IntN(100)))
	return rra.Value{Bits: uint64(len(*texts) - 1), Tag: []rra.Tag{rra.TagText, rra.TagInvalid}[r.IntN(2)]}
}

func TestValueRoundTrip(t *testing.T) {
	r := seedtest.Rand(t)
	for range 2000 {
		var prev, dprev, last uint64
		var tag, dtag uint8
		var in, out []string
		var values []rra.Value
		var dst []byte
		for range 1 + r.IntN(40) {
			v := randomValue(r, last, &in)
			if v.Tag != rra.TagText && v.Tag != rra.TagInvalid {
				last = v.Bits
			}
			values = append(values, v)
			dst = AppendValue(dst, v, in, &prev, &tag)
		}
		rd := Reader{Rest: dst}
		for i, want := range values {
			got := rd.Value(&out, &dprev, &dtag)
			if rd.Err != nil {
				t.Fatalf("value %d of %v: %v", i, values, rd.Err)
			}
			if got.Tag != want.Tag {
				t.Fatalf("value %d: %v, want %v", i, got, want)
			}
			if got.Tag == rra.TagText || got.Tag == rra.TagInvalid {
				if out[got.Bits] != in[want.Bits] {
					t.Fatalf("value %d: text %q, want %q", i, out[got.Bits], in[want.Bits])
				}
				continue
			}
			if got.Bits != want.Bits {
				t.Fatalf("value %d: %v, want %v after %v (%v after %v)", i, got, want, values[max(0, i-1)],
					math.Float64frombits(want.Bits), math.Float64frombits(values[max(0, i-1)].Bits))
			}
		}
		if len(rd.Rest) != 0 || prev != dprev || tag != dtag {
			t.Fatalf("%d bytes left, context %x %d, want %x %d", len(rd.Rest), dprev, dtag, prev, tag)
		}
	}
}

// Values of neighbours have the code that they have one by one.
func TestValuesAsOneByOne(t *testing.T) {
	r := seedtest.Rand(t)
	const series = 40
	var prev, prevAlone [series]uint64
	var tags, tagsAlone [series]uint8
	last := make([]uint64, series)
	for round := range 3000 {
		var texts []string
		values := make([]rra.Value, 1+r.IntN(series))
		for i := range values {
			values[i] = randomValue(r, last[i], &texts)
			if r.IntN(3) > 0 { // mostly integers, a little apart
				values[i] = rra.Value{Bits: last[i] + uint64(r.IntN(1<<r.IntN(24))), Tag: rra.TagInt}
				if i%2 == 0 {
					values[i] = rra.Float(float64(r.IntN(1 << r.IntN(24))))
				}
			}
			if values[i].Tag < rra.TagText {
				last[i] = values[i].Bits
			}
		}
		got := AppendValues(make([]byte, 3, 3+r.IntN(300)), values, texts, prev[:], tags[:])[3:]
		var want []byte
		for i, v := range values {
			want = AppendValue(want, v, texts, &prevAlone[i], &tagsAlone[i])
		}
		if string(got) != string(want) || prev != prevAlone || tags != tagsAlone {
			t.Fatalf("round %d: %v: %x, one by one %x", round, values, got, want)
		}
	}
}
