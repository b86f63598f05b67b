package rpn_test

import (
	"math"
	"testing"

	"github.com/rondo-db/rondo/rra/rpn"
)

func TestStatistic(t *testing.T) {
	nan, inf, minus := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	column := []float64{10, nan, 21, 11, 3, 34}
	for _, tt := range []struct {
		function string
		values   []float64
		want     float64
	}{
		{"MAXIMUM", column, 34},
		{"MINIMUM", column, 3},
		{"AVERAGE", column, 15.8},
		{"STDEV", column, math.Sqrt(115.76)},
		{"FIRST", column, 10},
		{"LAST", column, 34},
		{"TOTAL", column, 790},
		{"LSLSLOPE", column, 35.8 / 14.8},
		{"0,PERCENT", column, nan},
		{"10,PERCENT", column, 3},
		{"50,PERCENT", column, 11},
		{"100,PERCENT", column, 34},
		{"0,PERCENTNAN", column, 3},
		{"50,PERCENTNAN", column, 11},
		{"50,PERCENTNAN,whatever", column, 11},
		{"MAXIMUM", []float64{1, inf, 2, -inf}, 2},
		{"100,PERCENT", []float64{1, inf, 2}, inf},
		{"AVERAGE", []float64{nan, nan}, nan},
		{"95,PERCENTNAN", []float64{nan, nan}, nan}, // rrdtool reads past the end
		{"95,PERCENT", nil, nan},
		{"0,PERCENT", []float64{minus, 0, nan}, nan}, // of equal values the last one comes first
		{"50,PERCENT", []float64{minus, 0, nan}, 0},
		{"100,PERCENT", []float64{minus, 0, nan}, minus},
		{"0,PERCENTNAN", []float64{0, 5, minus}, minus},
		{"100,PERCENT", []float64{1, -inf, inf, 2}, inf},
		{"LSLINT", []float64{nan, 5}, nan},
		{"LSLCORREL", []float64{2, 4, 6}, 1},
		{"LSLCORREL", []float64{2, 2, 2}, nan},
	} {
		s, err := rpn.ParseStatistic("v", tt.function)
		if err != nil {
			t.Errorf("%s: %v", tt.function, err)
			continue
		}
		got, _, _ := s.At(rpn.Series{Step: 10, Values: tt.values})
		if math.IsNaN(got) != math.IsNaN(tt.want) || math.Abs(got-tt.want) > 1e-12 || got == 0 && math.Signbit(got) != math.Signbit(tt.want) {
			t.Errorf("%s of %v: got %v, want %v", tt.function, tt.values, got, tt.want)
		}
	}
}

func TestParseStatistic(t *testing.T) {
	for text, want := range map[string]string{
		"":              "Unknown function '' in VDEF 'v'\n",
		"FOO":           "Unknown function 'FOO' in VDEF 'v'\n",
		"maximum":       "Unknown function string 'maximum' in VDEF 'v'",
		"MAXIMUM,":      "Unknown function string 'MAXIMUM,' in VDEF 'v'",
		"5":             "Unknown function '' in VDEF 'v'\n",
		"PERCENT":       "Function 'PERCENT' needs parameter in VDEF 'v'\n",
		"5,LAST":        "Function 'LAST' needs no parameter in VDEF 'v'\n",
		"101,PERCENT":   "Parameter '101.000000' out of range in VDEF 'v'\n",
		"1e400,PERCENT": "Parameter 'inf' out of range in VDEF 'v'\n",
		"1-2,PERCENT":   "Unknown function string '1-2,PERCENT' in VDEF 'v'",
	} {
		if _, err := rpn.ParseStatistic("v", text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
