package protocols

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestSendCollectd: what the program sends, by every way of protection, its server keeps.
func TestSendCollectd(t *testing.T) {
	t.Parallel() // most of it is waiting
	dir := t.TempDir()
	db, auth := filepath.Join(dir, "db"), filepath.Join(dir, "auth")
	if err := os.WriteFile(auth, []byte("alice: s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := rondotest.Serve(t, db, "--collectd", "127.0.0.1:0", "--collectd-auth-file", auth)
	send := func(args ...string) {
		t.Helper()
		if out, ok := runProgram(t, append([]string{"send", "collectd", "--to", d.Listens["collectd"]}, args...)...); !ok || out != "" {
			t.Fatalf("send collectd %q: %s", args, out)
		}
	}
	until := func(what, want string, args ...string) {
		t.Helper()
		for deadline := time.Now().Add(rondotest.Patience); ; time.Sleep(5 * time.Millisecond) {
			out, ok := runProgram(t, args...)
			if ok && strings.Contains(out, want) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s:\n%s\nwant %q", what, out, want)
			}
		}
	}
	send("--at", "1700000000", "web1/load/load=0.5:0.25:U", "web1/interface-eth0/if_octets=1000:2000")
	send("--time", "1700000000", "--interval", "1m", "--type", "counter", "web1/shop/orders-sold=9007199254740993")
	send("--security-level", "sign", "--username", "alice", "--password", "s3cret", "web1/a/gauge-signed=1")
	send("--security-level", "encrypt", "--username", "alice", "--auth-file", auth, "web1/a/gauge-encrypted=1")
	send("--security-level", "encrypt", "--username", "alice", "--password", "wrong", "web1/a/gauge-wrong=1")
	send("--at", "1700000000", "web1/a/gauge-last=1")
	send("--notify", "warning:the disk is filling up", "web1/df-root/percent_bytes-used")
	last := []string{"lastupdate", "--db", db}
	until("load", "1700000000: 0.5 0.25 U\n", append(last, "collectd/web1/load/load")...)
	until("traffic", " rx tx\n\n1700000000: 1000 2000\n", append(last, "collectd/web1/interface-eth0/if_octets")...)
	until("orders", "1700000000: 9007199254740993\n", append(last, "collectd/web1/shop/orders-sold")...)
	until("the last", "1700000000: 1\n", append(last, "collectd/web1/a/gauge-last")...)
	until("the kind of orders", "\nds[value].type = \"COUNTER\"\nds[value].minimal_heartbeat = 120\n", "info", "--db", db, "collectd/web1/shop/orders-sold")
	until("the notification", "the disk is filling up", "notes", "--db", db)
	if out, _ := runProgram(t, "list", "--db", db); strings.Contains(out, "wrong") || !strings.Contains(out, "gauge-signed") || !strings.Contains(out, "gauge-encrypted") {
		t.Errorf("series:\n%s", out)
	}
}
