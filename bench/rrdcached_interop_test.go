package main

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/rondo-db/rondo/bench/internal/rrdcachedbench"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestBenchRRDCached does the whole measurement with few series. kill -9 loses no update that rondo
// has acknowledged. The test logs what rrdcached loses.
func TestBenchRRDCached(t *testing.T) {
	t.Parallel()
	args := []string{"rrdcached", "--series", "100", "--rounds", "3", "--single", "1", "--kills", "3", "--json"}
	if _, err := rrdcachedbench.Find(); err != nil && rrdtooltest.Required() {
		t.Fatalf("RONDO_REQUIRE_PEERS=1: %v", err)
	}
	cmd := exec.Command("rondo-bench", args...)
	cmd.Stderr = t.Output() // it says the seed
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var ms []rrdcachedbench.Measured
	if err := json.Unmarshal(out, &ms); err != nil || len(ms) == 0 {
		t.Fatalf("%v: %s", err, out)
	}
	for _, m := range ms {
		t.Logf("%s: killed %d times, %d updates lost of %d acknowledged", m.Name, m.Kills, m.Lost, m.Acknowledged)
		if m.Updates != 300 || m.FetchSeries != 100 || m.Kills != 3 || m.Acknowledged < 150 || m.Enqueue <= 0 || m.Fetch <= 0 || m.Pipelined <= 0 {
			t.Errorf("%+v", m)
		}
	}
	if ms[0].Name != "rondo" || ms[0].Lost != 0 {
		t.Errorf("%s lost %d", ms[0].Name, ms[0].Lost)
	}
}
