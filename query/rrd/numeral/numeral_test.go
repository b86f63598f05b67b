package numeral_test

import (
	"math"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/numeral"
)

func TestAppend(t *testing.T) {
	for v, want := range map[float64]string{
		0:                    "0.0000000000e+00",
		math.Copysign(0, -1): "0.0000000000e+00",
		-1:                   "-1.0000000000e+00",
		9.99999999996:        "1.0000000000e+01",
		1e-14:                "10.0000000000e-15", // as rrdtool prints it
		9.9999999999e99:      "9.9999999999e+99",
		12744623.1875:        "1.2744623187e+07", // printf: 188
		63147830312.5:        "6.3147830313e+10", // printf: 312
		1e-309:               "0.1000000000e-308",
		math.MaxFloat64:      "1.7976931349e+308",
		5e-324:               "0.0000000000e-308",
		math.Inf(-1):         "-inf",
	} {
		if got := string(numeral.Append(nil, v)); got != want {
			t.Errorf("%g: got %s, want %s", v, got, want)
		}
	}
	if got := string(numeral.Append(nil, math.NaN())); got != "NaN" {
		t.Errorf("NaN: got %s", got)
	}
}
