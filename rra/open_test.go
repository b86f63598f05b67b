package rra_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rondo-db/rondo/rra"
)

// What a series knows behind its last step: the mean of its open PDP, or else the last reading of a
// GAUGE.
func TestOpen(t *testing.T) {
	for _, tt := range []struct {
		name, source string
		start        rra.Time
		readings     []string // "TIME:VALUE", microseconds
		want         string
	}{
		{"nothing yet", "DS:x:GAUGE:20:U:U", 1003_000000, nil, "(1000, 1003] NaN"},
		{"a first reading within a step", "DS:x:GAUGE:20:U:U", 1002_000000, []string{"1006:0.3"}, "(1000, 1006] 0.3"},
		{"at the end of a step", "DS:x:GAUGE:20:U:U", 1002_000000, []string{"1010:7"}, "(1009, 1010] 7"},
		{"two readings", "DS:x:GAUGE:20:U:U", 1000_000000, []string{"1002:10", "1006:40"}, "(1000, 1006] 30"},
		{"over the end of a step", "DS:x:GAUGE:20:U:U", 1000_000000, []string{"1008:10", "1013:20"}, "(1010, 1013] 20"},
		{"fractions of a second", "DS:x:GAUGE:20:U:U", 1000_000000, []string{"1010.5:10", "1011.5:20"}, "(1010, 1011] 16.666666666666668"},
		{"behind the heartbeat", "DS:x:GAUGE:20:U:U", 1000_000000, []string{"1053:8"}, "(1050, 1053] 8"},
		{"unknown", "DS:x:GAUGE:20:U:U", 1000_000000, []string{"1002:8", "1005:U"}, "(1000, 1005] 8"},
		{"unknown from the first", "DS:x:GAUGE:20:U:U", 1000_000000, []string{"1012:U"}, "(1010, 1012] NaN"},
		{"below the limit", "DS:x:GAUGE:20:0:9", 1000_000000, []string{"1012:-1"}, "(1010, 1012] NaN"},
		{"above the limit", "DS:x:GAUGE:20:0:9", 1000_000000, []string{"1053:10"}, "(1050, 1053] NaN"},
		{"a first reading of a counter", "DS:x:COUNTER:20:U:U", 1000_000000, []string{"1013:100"}, "(1010, 1013] NaN"},
		{"the open rate", "DS:x:COUNTER:20:U:U", 1000_000000, []string{"1003:100", "1013:150"}, "(1010, 1013] 5"},
		{"a rate at the end of a step", "DS:x:DERIVE:20:U:U", 1000_000000, []string{"1003:100", "1010:150"}, "(1009, 1010] NaN"},
	} {
		d, err := rra.ParseDefinition(10, []string{tt.source, "DS:twice:COMPUTE:x,2,*", "RRA:AVERAGE:0.5:1:10"})
		if err != nil {
			t.Fatal(err)
		}
		m, err := rra.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		s := m.NewState(tt.start)
		for _, text := range tt.readings {
			var at float64
			var value string
			if _, err := fmt.Sscanf(text, "%f:%s", &at, &value); err != nil {
				t.Fatal(err)
			}
			var texts []string
			v, _ := rra.ParseValue(d.Sources[0].Kind, value, &texts)
			if _, err := m.Step(&s, rra.Time(math.Round(at*1e6)), []rra.Value{v}, texts, nil); err != nil {
				t.Fatal(err)
			}
		}
		values := []float64{1, 1}
		from, to := m.Open(&s, values)
		if got := fmt.Sprintf("(%d, %d] %v", from, to, values[0]); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if v := 2 * values[0]; values[1] != v && !math.IsNaN(v) {
			t.Errorf("%s: twice %v is %v", tt.name, values[0], values[1])
		}
	}
}
