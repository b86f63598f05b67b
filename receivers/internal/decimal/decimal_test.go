package decimal_test

import (
	"math"
	"strconv"
	"testing"

	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// TestParse: numbers of any length and form equal strconv's to the last bit.
func TestParse(t *testing.T) {
	rnd := seedtest.Rand(t)
	check := func(text string) {
		t.Helper()
		want, err := strconv.ParseFloat(text, 64)
		got, ok := decimal.Parse([]byte(text))
		if ok != (err == nil) || ok && math.Float64bits(got) != math.Float64bits(want) {
			t.Errorf("%q is %v (%t), want %v (%v)", text, got, ok, want, err)
		}
	}
	for range 100_000 {
		v := math.Ldexp(rnd.Float64()-0.5, rnd.IntN(80)-20)
		check(strconv.FormatFloat(v, 'f', rnd.IntN(20)-1, 64))
		check(strconv.FormatFloat(v, 'e', rnd.IntN(20)-1, 64))
		check(strconv.FormatUint(rnd.Uint64()>>rnd.IntN(64), 10))
	}
	for _, text := range []string{"", "-", "+", ".", "-.", "1.", ".1", "-0", "-0.0", "1..2", "1-", "--1", "0000000000000000001", "9007199254740993", "9007199254740992.5"} {
		check(text)
	}
	for _, text := range []string{"0x1p3", "1_000", "0b1"} {
		if v, ok := decimal.Parse([]byte(text)); ok {
			t.Errorf("%q is taken as %v", text, v)
		}
	}
	if v, ok := decimal.Parse([]byte("-1e999")); !ok || !math.IsInf(v, -1) {
		t.Errorf("a number too large is %v, %t", v, ok)
	}
}
