package protocols

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestGmetric: what `rondo send gmetric` sends is received, in both formats, stored and kept.
func TestGmetric(t *testing.T) {
	t.Parallel() // most of it is waiting
	db := filepath.Join(t.TempDir(), "db")
	d := rondotest.Serve(t, db, "--gmetric", "127.0.0.1:0")
	to := d.Listens["gmetric"]
	const spoof = "10.0.0.7:web7"
	for _, args := range [][]string{
		{"-n", "requests", "-v", "17", "-t", "uint32", "-s", "positive", "-u", "n/s", "-x", "20", "-d", "600", "-g", "web, all", "-T", "title", "-D", "what it is", "-C", "c", "-S", spoof},
		{"--name", "load", "--value", "0.5", "--type", "float", "--format", "3.0"},
		{"--name", "state", "--value", "all well", "--type", "string", "--spoof", spoof},
		{"--heartbeat", "--spoof", spoof},
	} {
		if out, ok := runProgram(t, append([]string{"send", "gmetric", "--to", to}, args...)...); !ok || out != "" {
			t.Fatalf("send %q: %s", args, out)
		}
	}
	info := func(path string) string {
		out, _ := runProgram(t, "info", "--db", db, path)
		return out
	}
	for path, wants := range map[string][]string{
		"ganglia/web7/requests": {
			`ds[sum].type = "COUNTER"`, "ds[sum].minimal_heartbeat = 120", `ds[sum].last_ds = "17"`, "step = 15", "rra[2].pdp_per_row = 40",
			`attribute[units] = "n/s"`, `attribute[group] = "web,all"`, `attribute[title] = "title"`, `attribute[description] = "what it is"`,
			`attribute[cluster] = "c"`, `attribute[ip] = "10.0.0.7"`, "expire = 600",
		},
		"ganglia/127.0.0.1/load": {`ds[sum].type = "GAUGE"`, "ds[sum].minimal_heartbeat = 240", `attribute[type] = "float"`},
		"ganglia/web7/state":     {`"all well"`},
		"ganglia/web7/heartbeat": {"time"},
	} {
		var out string
		for deadline := time.Now().Add(rondotest.Patience); ; time.Sleep(20 * time.Millisecond) {
			out = info(path)
			missing := ""
			for _, w := range wants {
				if !strings.Contains(out, w) {
					missing = w
				}
			}
			if missing == "" {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s: %s is missing in\n%s", path, missing, out)
				break
			}
		}
	}
	for want, args := range map[string][]string{
		"--name is missing":                             {"--value", "1", "--type", "int8"},
		"--type is missing":                             {"--name", "x", "--value", "1"},
		`--type "int": want string`:                     {"--name", "x", "--value", "1", "--type", "int"},
		`--slope "up": want zero`:                       {"--name", "x", "--value", "1", "--type", "int8", "--slope", "up"},
		`--value "one" of type int8`:                    {"--name", "x", "--value", "one", "--type", "int8"},
		`--value "1.5" of type int8`:                    {"--name", "x", "--value", "1.5", "--type", "int8", "--slope", "positive"},
		`--spoof "web7": want IP:HOST`:                  {"--name", "x", "--value", "1", "--type", "int8", "--spoof", "web7"},
		"--format 3.0 has no room for spoof_host":       {"--name", "x", "--value", "1", "--type", "int8", "--spoof", spoof, "--format", "3.0"},
		`--format "2": want 3.0 or 3.1`:                 {"--name", "x", "--value", "1", "--type", "int8", "--format", "2"},
		"--heartbeat goes with --spoof, and without --": {"--heartbeat"},
		"name of 2000 bytes, 1472 is the most":          {"--name", strings.Repeat("x", 2000), "--value", "1", "--type", "int8"},
	} {
		if out, ok := runProgram(t, append([]string{"send", "gmetric", "--to", to}, args...)...); ok || !strings.Contains(out, want) {
			t.Errorf("send %q: %t %s, want %q", args, ok, out, want)
		}
	}
	d.Stop(t)
}
