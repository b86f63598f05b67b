package protocols

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// realSenders are the ways a collectd protects what it sends.
var realSenders = []struct{ host, options string }{
	{"plain1", ``},
	{"signed1", `SecurityLevel Sign
		Username "alice"
		Password "secret"`},
	{"encrypted1", `SecurityLevel Encrypt
		Username "alice"
		Password "secret"`},
}

// wanted are series that a collectd on any Linux sends.
var wanted = []string{"cpu-0/cpu-idle", "load/load", "memory/memory-free", "interface-lo/if_octets", "df-root/df_complex-free", "uptime/uptime"}

// startCollectd starts the installed collectd, which sends to the UDP address addr every second.
func startCollectd(t *testing.T, host, addr, options string) {
	t.Helper()
	dir := t.TempDir()
	ip, port, _ := strings.Cut(addr, ":")
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
		LoadPlugin df
		LoadPlugin uptime
		LoadPlugin network
		<Plugin network>
			<Server %q %q>
				%s
			</Server>
		</Plugin>
		`, host, dir, filepath.Join(dir, "pid"), ip, port, options)
	runCollectd(t, host, dir, conf)
}

// runCollectd runs the installed collectd in a folder until the test is over. What it says is
// logged if the test fails.
func runCollectd(t *testing.T, host, dir, conf string) {
	t.Helper()
	name := filepath.Join(dir, "collectd.conf")
	if err := os.WriteFile(name, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("collectd", "-f", "-C", name)
	rrdtooltest.Run(t, cmd)
}

var rowTime = regexp.MustCompile(`(?m)^ *(\d+): \d`)

// TestCollectd is the main job: collectd sends, plain, signed and encrypted, the server stores, and
// what it stored is read by command line and RPC, while it runs, after it was killed, and after it
// was stopped.
func TestCollectd(t *testing.T) {
	t.Parallel() // most of it is waiting
	path := rrdtooltest.Peer(t, "collectd")
	t.Log(path)
	dir := t.TempDir()
	auth := filepath.Join(dir, "auth")
	if err := os.WriteFile(auth, []byte("alice: secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(dir, "db")
	d := rondotest.Serve(t, db, "--collectd", "127.0.0.1:0", "--collectd-auth-file", auth)
	for _, s := range realSenders {
		startCollectd(t, s.host, d.Listens["collectd"], s.options)
	}
	for _, s := range realSenders {
		rondotest.WaitFor(t, "two known rows of "+s.host, func() bool {
			name := "collectd/" + s.host + "/load/load"
			if !strings.Contains(rondotest.Run(t, db, "list"), name+"\n") {
				return false
			}
			return len(rowTime.FindAllString(rondotest.Run(t, db, "fetch", name, "AVERAGE", "-s", "-10s"), -1)) >= 2
		})
	}
	for _, s := range realSenders { // the plugins read at times of their own
		for _, w := range wanted {
			name := "collectd/" + s.host + "/" + w
			rondotest.WaitFor(t, "the series "+name, func() bool { return strings.Contains(rondotest.Run(t, db, "list"), name+"\n") })
		}
	}
	name := "collectd/signed1/load/load"
	row := rowTime.FindStringSubmatch(rondotest.Run(t, db, "fetch", name, "AVERAGE", "-s", "-10s"))
	if row == nil {
		t.Fatal("no known row")
	}
	ask := func() string { // the row that ends at row[1], and the next
		return strings.Join(strings.Split(rondotest.Run(t, db, "fetch", name, "AVERAGE", "-s", row[1]+"-1s", "-e", row[1]), "\n")[:3], "\n")
	}
	want := ask()
	if info := rondotest.Run(t, db, "info", name); !strings.Contains(info, "ds[shortterm].type = \"GAUGE\"\n") {
		t.Errorf("info:\n%s", info)
	}
	if got := d.Call(t, "Fetch", fmt.Sprintf(`{"path":%q,"start":"-10s"}`, name)); !strings.Contains(got, `{"ds":"shortterm","values":[`) {
		t.Errorf("fetch by RPC: %s", got)
	}
	d.Kill(t)
	if got := ask(); got != want {
		t.Errorf("after a kill:\n%s\nwant\n%s", got, want)
	}
	d = rondotest.Serve(t, db)
	if got := ask(); got != want {
		t.Errorf("with a new server:\n%s\nwant\n%s", got, want)
	}
	d.Stop(t)
	if got := ask(); got != want {
		t.Errorf("after SIGTERM:\n%s\nwant\n%s", got, want)
	}
	if out := rondotest.Run(t, db, "check"); out != "no problem found\n" {
		t.Errorf("check: %s", out)
	}
}
