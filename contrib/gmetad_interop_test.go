package contrib_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// gangliaConf configures a gmond which has two metrics, and shows them at a TCP port.
const gangliaConf = `
globals {
  daemonize = no
  setuid = no
  host_dmax = 0
  cleanup_threshold = 300
  send_metadata_interval = 0
}
cluster { name = "lab" }
udp_send_channel { host = 127.0.0.1 port = %[1]d }
udp_recv_channel { port = %[1]d bind = 127.0.0.1 }
tcp_accept_channel { port = %[2]d bind = 127.0.0.1 }
modules {
  module { name = "core_metrics" }
  module { name = "load_module" path = "%[3]s/modload.so" }
  module { name = "mem_module" path = "%[3]s/modmem.so" }
}
collection_group {
  collect_once = yes
  time_threshold = 1
  metric { name = "heartbeat" }
}
collection_group {
  collect_every = 1
  time_threshold = 1
  metric { name = "load_one" }
  metric { name = "mem_total" }
}
`

// gmetadPolicy is what docs/clients.md says of gmetad, for a gmetad that asks every second.
const gmetadPolicy = `
policy:
  - path: __SummaryInfo__/*
    step: 1s
    sources: ["DS:sum:GAUGE:8:U:U", "DS:num:GAUGE:8:U:U"]
    archives: ["RRA:AVERAGE:0.5:1:100"]
  - path: "*/__SummaryInfo__/*"
    step: 1s
    sources: ["DS:sum:GAUGE:8:U:U", "DS:num:GAUGE:8:U:U"]
    archives: ["RRA:AVERAGE:0.5:1:100"]
  - path: "*/*/*"
    step: 1s
    sources: ["DS:sum:GAUGE:8:U:U"]
    archives: ["RRA:AVERAGE:0.5:1:100"]
`

// gmetadSeries returns some that gmetad writes for that gmond. The sum of all clusters comes every
// 15 seconds only.
func gmetadSeries(all bool) []string {
	names := []string{"lab/localhost/load_one", "lab/localhost/mem_total", "lab/__SummaryInfo__/mem_total"}
	if all {
		names = append(names, "__SummaryInfo__/load_one")
	}
	return names
}

// TestGmetad has Debian's gmetad, which asks a gmond, write into rondo: by its rrdcached_address,
// where the policy makes the series, and with librrd's RRDCACHED_ADDRESS, where gmetad makes each
// until it sees a file of the name.
func TestGmetad(t *testing.T) {
	rrdtooltest.Need(t, "gmond", "gmetad")
	t.Parallel()
	modules, err := filepath.Glob("/usr/lib/*/ganglia/modload.so")
	if err != nil || len(modules) == 0 {
		rrdtooltest.Lacks(t, "there is no ", "module of gmond")
	}
	ports := freePorts(t, 2)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "gmond.conf"), fmt.Sprintf(gangliaConf, ports[0], ports[1], filepath.Dir(modules[0])), 0o600)
	start(t, dir, bare(), "gmond", "-f", "-c", "gmond.conf")
	waitFor(t, "gmond's metrics", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", ports[1]))
		if err != nil {
			return false
		}
		defer func() { _ = c.Close() }() // it was only read
		var text bytes.Buffer
		_, _ = text.ReadFrom(c) // what is missing is seen
		return strings.Contains(text.String(), "load_one") && strings.Contains(text.String(), "mem_total")
	})
	gmetad := func(t *testing.T, dir, setting string, env []string) (stop func()) {
		own := freePorts(t, 2)
		config := fmt.Sprintf("data_source \"lab\" 1 127.0.0.1:%d\nsetuid off\nrrd_rootdir %q\nxml_port %d\ninteractive_port %d\nRRAs \"RRA:AVERAGE:0.5:1:100\"\n%s\n",
			ports[1], filepath.Join(dir, "rrds"), own[0], own[1], setting)
		write(t, filepath.Join(dir, "gmetad.conf"), config, 0o600)
		if err := os.Mkdir(filepath.Join(dir, "rrds"), 0o700); err != nil {
			t.Fatal(err)
		}
		return start(t, dir, env, "gmetad", "-d", "1", "-c", "gmetad.conf")
	}
	t.Run("rrdcached_address", func(t *testing.T) {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "rondo.yaml"), gmetadPolicy, 0o600)
		log := serve(t, dir, "--config", "rondo.yaml", "--rrdcached", "127.0.0.1:0", "--rrdcached-base", filepath.Join(dir, "rrds"))
		defer gmetad(t, dir, "rrdcached_address "+listensAt(t, log), bare())()
		for _, name := range gmetadSeries(seedtest.More()) {
			checkGmetad(t, dir, name)
		}
	})
	t.Run("RRDCACHED_ADDRESS", func(t *testing.T) {
		dir := t.TempDir()
		serve(t, dir, "--rrdcached", "unix:"+filepath.Join(dir, "socket"), "--rrdcached-base", filepath.Join(dir, "rrds"))
		defer gmetad(t, dir, "", bare("RRDCACHED_ADDRESS=unix:"+filepath.Join(dir, "socket")))()
		for _, name := range gmetadSeries(false) {
			checkGmetad(t, dir, name)
		}
	})
}

// checkGmetad waits for rows of a series of gmetad's: the sum, and of a summary the number of
// hosts.
func checkGmetad(t *testing.T, dir, name string) {
	t.Helper()
	row := regexp.MustCompile(`(?m)^ *\d+: \d\S+$`)
	names := " sum\n"
	if strings.Contains(name, "Summary") {
		row, names = regexp.MustCompile(`(?m)^ *\d+: \d\S+ 1\.0000000000e\+00$`), " num\n"
	}
	waitFor(t, "two rows of "+name, func() bool {
		if !listed(t, dir, name) {
			return false
		}
		rows := rondo(t, dir, "fetch", name, "AVERAGE", "-s", "-20s")
		head, _, _ := strings.Cut(rows, "\n")
		return strings.HasSuffix(head+"\n", names) && len(row.FindAllString(rows, -1)) >= 2
	})
}

// listed says whether there is the series of a file.
func listed(t *testing.T, dir, name string) bool {
	t.Helper()
	return strings.Contains("\n"+rondo(t, dir, "list"), "\n"+name+".rrd\n")
}

// listensAt returns the address of rrdcached's protocol in the log of a server.
func listensAt(t *testing.T, log string) string {
	t.Helper()
	m := regexp.MustCompile(`listening for=rrdcached network=tcp addr=(\S+)`).FindStringSubmatch(log)
	if m == nil {
		t.Fatalf("no address in\n%s", log)
	}
	return m[1]
}

// start runs a program until the test ends, or stop is called.
func start(t *testing.T, dir string, env []string, args ...string) (stop func()) {
	t.Helper()
	cmd := exec.Command(rrdtooltest.Peer(t, args[0]), args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	return rrdtooltest.Run(t, cmd)
}

// freePorts returns ports of loopback that were free for TCP and UDP a moment ago, and are not of
// those that clients get.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for len(ports) < n {
		port := 15_000 + rand.IntN(15_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // it is only held
		u, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		if err != nil {
			continue
		}
		defer func() { _ = u.Close() }() // likewise
		ports = append(ports, port)
	}
	return ports
}
