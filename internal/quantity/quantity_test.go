package quantity

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
)

// TestNumbersOfTheTable writes the numbers of the table that the tests of the page's script read, too.
func TestNumbersOfTheTable(t *testing.T) {
	data, err := os.ReadFile("../../query/web/testdata/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var table struct {
		Cases []struct {
			Unit   string
			Base   int
			Values []any
			Want   []string
		}
	}
	if err := json.Unmarshal(data, &table); err != nil || len(table.Cases) < 40 {
		t.Fatalf("%d cases, %v", len(table.Cases), err)
	}
	names := map[any]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}
	for _, c := range table.Cases {
		values := make([]float64, len(c.Values))
		for i, v := range c.Values {
			if f, ok := v.(float64); ok {
				values[i] = f
			} else {
				values[i] = names[v]
			}
		}
		s := Of(c.Unit, c.Base, values...)
		for i, v := range values {
			if got := strings.ReplaceAll(s.Text(v), space, " "); got != c.Want[i] {
				t.Errorf("%v in %q of %v: got %q, want %q", v, c.Unit, values, got, c.Want[i])
			}
		}
	}
}

func TestNamesSayUnits(t *testing.T) {
	for name, want := range map[string]string{
		"node_memory_MemFree_bytes": "B", `node_network_receive_bytes_total{device="eth0_bytes"}`: "B", "go_gc_duration_seconds": "s",
		"room_celsius": "°C", "celsius": "°C", "load_one": "", "x_total": "", "": "",
	} {
		if got := UnitOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
