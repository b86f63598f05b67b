package enginebench

import (
	"os"
	values "reflect"
	"testing"
)

func TestSizesAreMeasured(t *testing.T) {
	c := testConfig(t)
	for _, c.Series = range []int{100, 400} {
		c.Readings = 7
		s, err := MeasureSize(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if s.Series != c.Series || s.Samples != 7*c.Series {
			t.Errorf("%d samples of %d series, want %d of %d", s.Samples, s.Series, 7*c.Series, c.Series)
		}
		for v, i := values.ValueOf(s), 0; i < v.NumField(); i++ {
			if v.Field(i).IsZero() {
				t.Errorf("%s is not measured", v.Type().Field(i).Name)
			}
		}
		if err := os.RemoveAll(c.Dir); err != nil {
			t.Fatal(err)
		}
	}
}
