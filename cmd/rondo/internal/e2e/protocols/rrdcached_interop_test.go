package protocols

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// startRRDCachedPlugin starts the installed collectd with its rrdcached plugin, which updates and
// creates nothing by itself.
func startRRDCachedPlugin(t *testing.T, host, settings string) {
	t.Helper()
	dir := t.TempDir()
	conf := fmt.Sprintf(`
		Hostname %q
		FQDNLookup false
		BaseDir %q
		PIDFile %q
		Interval 1
		LoadPlugin logfile
		<Plugin logfile>
			File "stderr"
		</Plugin>
		LoadPlugin cpu
		LoadPlugin load
		LoadPlugin memory
		LoadPlugin interface
		LoadPlugin uptime
		LoadPlugin rrdcached
		<Plugin rrdcached>
			%s
		</Plugin>
		`, host, dir, filepath.Join(dir, "pid"), settings)
	runCollectd(t, host, dir, conf)
}

// TestCollectdsRRDCachedPlugin has collectd write by way of rrdcached's protocol: series are made
// by their first UPDATE, as the policy says and with the data sources of collectd's types.
func TestCollectdsRRDCachedPlugin(t *testing.T) {
	t.Parallel() // most of it is waiting
	rrdtooltest.Need(t, "collectd")
	dir, err := os.MkdirTemp("", "rc") // a socket's name must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	db, base, socket := filepath.Join(dir, "db"), filepath.Join(dir, "rrd"), filepath.Join(dir, "s")
	conf := filepath.Join(dir, "rondo.yaml")
	if err := os.WriteFile(conf, []byte("policy:\n  - {path: \"tcphost/**\", step: 1s, heartbeat: 10s, archives: [\"RRA:AVERAGE:0.5:1s:1h\"]}\n"+
		"  - {path: \"unixhost/load/*\", step: 1s}\n  - {path: \"*/rrdcached/*\", step: 1s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := rondotest.Serve(t, db, "--config", conf, "--rrdcached", "unix:"+socket, "--rrdcached", "127.0.0.1:0", "--rrdcached-base", base)
	startRRDCachedPlugin(t, "tcphost", fmt.Sprintf("DaemonAddress %q\nCreateFiles false\nCollectStatistics true", d.Listens["rrdcached"]))
	// With files of its own it asks where they are: there must be folders.
	for _, w := range []string{"load", "uptime"} {
		if err := os.MkdirAll(filepath.Join(base, "unixhost", w), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	startRRDCachedPlugin(t, "unixhost", fmt.Sprintf("DaemonAddress \"unix:%s\"\nDataDir %q\nCreateFiles false", socket, base))
	for _, name := range []string{
		"tcphost/cpu-0/cpu-idle.rrd", "tcphost/load/load.rrd", "tcphost/memory/memory-free.rrd", "tcphost/interface-lo/if_octets.rrd",
		"tcphost/uptime/uptime.rrd", "unixhost/load/load.rrd",
	} {
		rondotest.WaitFor(t, "two known rows of "+name, func() bool {
			if !strings.Contains(rondotest.Run(t, db, "list"), name+"\n") {
				return false
			}
			return len(rowTime.FindAllString(rondotest.Run(t, db, "fetch", name, "AVERAGE", "-s", "-10s"), -1)) >= 2
		})
	}
	if info := rondotest.Run(t, db, "info", "tcphost/interface-lo/if_octets.rrd"); !strings.Contains(info, "step = 1\n") ||
		!strings.Contains(info, "ds[tx].type = \"DERIVE\"\n") || !strings.Contains(info, "ds[tx].minimal_heartbeat = 10\n") {
		t.Errorf("info:\n%s", info)
	}
	if list := rondotest.Run(t, db, "list"); strings.Contains(list, "unixhost/uptime") {
		t.Errorf("no rule names it:\n%s", list)
	}
	rondotest.WaitFor(t, "collectd's own statistics of the daemon", func() bool { return strings.Contains(rondotest.Run(t, db, "list"), "/rrdcached/queue_length.rrd\n") })
	d.Stop(t)
	if out := rondotest.Run(t, db, "check"); out != "no problem found\n" {
		t.Errorf("check: %s", out)
	}
}
