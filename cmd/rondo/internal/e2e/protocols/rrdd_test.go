package protocols

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestRRDD: what a script publishes is received, and listed with its units.
func TestRRDD(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	metrics, db := filepath.Join(dir, "metrics"), filepath.Join(dir, "db")
	if err := os.Mkdir(metrics, 0o755); err != nil {
		t.Fatal(err)
	}
	publish := func(args ...string) {
		t.Helper()
		if out, ok := runProgram(t, append([]string{"rrdd-publish", "--dir", metrics}, args...)...); !ok {
			t.Fatalf("rrdd-publish %q: %s", args, out)
		}
	}
	publish("sensors", "temperature=21.5", "fan speed=1200", "--units", "degC", "--description", "CPU 0")
	d := rondotest.Serve(t, db, "--rrdd", metrics, "--rrdd-interval", "100ms")
	if d.Listens["rrdd"] != metrics {
		t.Errorf("it listens on %q, want the folder %s", d.Listens["rrdd"], metrics)
	}
	const disk = "rrdd/disk/vm/5f6c1a9e-0000-4000-8000-0123456789ab/written"
	publish("--v1", "--owner", "vm 5f6c1a9e-0000-4000-8000-0123456789ab", "--type", "derive", "--value-type", "int64", "--min", "0", "disk", "written=9007199254740993")
	holds := func(series, value string) {
		t.Helper()
		rondotest.WaitFor(t, series+" holds "+value, func() bool {
			return strings.Contains(rondotest.Run(t, db, "list"), series) && strings.HasSuffix(strings.TrimSpace(rondotest.Run(t, db, "lastupdate", series)), ": "+value)
		})
	}
	holds("rrdd/sensors/host/temperature", "21.5")
	holds("rrdd/sensors/host/fan speed", "1200")
	holds(disk, "9007199254740993")

	lines := exec.Command("rondo", "rrdd-publish", "--dir", metrics, "--interval", "20ms", "lines")
	in, err := lines.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := lines.Start(); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"1", "2.5"} {
		if _, err := in.Write([]byte("a name " + value + "\n")); err != nil {
			t.Fatal(err)
		}
		holds("rrdd/lines/host/a name", value)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := lines.Wait(); err != nil {
		t.Errorf("rrdd-publish --interval: %v", err)
	}

	for series, wants := range map[string][]string{
		"rrdd/sensors/host/temperature": {
			"step = 5\n", `ds[value].type = "GAUGE"`, "ds[value].minimal_heartbeat = 300\n", `label[plugin] = "sensors"`,
			`label[units] = "degC"`, `attribute[description] = "CPU 0"`, `attribute[units] = "degC"`,
		},
		disk: {`ds[value].type = "DERIVE"`, "ds[value].min = 0.0", `label[uuid] = "5f6c1a9e-0000-4000-8000-0123456789ab"`},
	} {
		var info string
		rondotest.WaitFor(t, "metadata of "+series, func() bool {
			info = rondotest.Run(t, db, "info", series)
			return !strings.Contains(info, `label[units]`) || strings.Contains(info, "attribute[units]")
		})
		for _, want := range wants {
			if !strings.Contains(info, want) {
				t.Errorf("info %s lacks %q:\n%s", series, want, info)
			}
		}
	}
	d.Stop(t)
	if strings.Contains(d.Log.String(), "rrdd: ") {
		t.Errorf("complaints:\n%s", d.Log.String())
	}
}
