package e2e

import (
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestNoLineProtocolOnTCPByDefault: rrdcached's protocol is spoken on a socket of the owner alone,
// and TCP ports that can change series are opened only when they are asked for.
func TestNoLineProtocolOnTCPByDefault(t *testing.T) {
	t.Chdir(t.TempDir()) // a note of the series is left in the working folder
	db := filepath.Join(t.TempDir(), "rondo.db")
	d := rondotest.StartDefault(t, db)
	want := []string{"collectd", "command line", "gmetric", "http", "rrdcached"}
	if got := slices.Sorted(maps.Keys(d.Listens)); !slices.Equal(got, want) {
		t.Errorf("listening for %q, want %q", got, want)
	}
	name := filepath.Join(db, "rrdcached.sock")
	if d.Listens["rrdcached"] != name {
		t.Errorf("rrdcached's protocol is spoken at %s, want %s", d.Listens["rrdcached"], name)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket's mode is %v", info.Mode())
	}
	if out := rondotest.Run(t, db, "--daemon", "unix:"+name, "create", "a", "--start", "1000000000", "DS:v:GAUGE:600:U:U", "RRA:LAST:0.5:1:5"); out != "" {
		t.Errorf("create prints %q", out)
	}
	if out := rondotest.Run(t, db, "last", "a"); out != "1000000000\n" {
		t.Errorf("last prints %q", out)
	}
	d.Stop(t)
	if _, err := os.Lstat(name); err == nil {
		t.Error("the socket is still there after the end")
	}
}

// TestDefaultSocketTaken: another server's socket is not taken away.
func TestDefaultSocketTaken(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	if err := os.Mkdir(db, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(db, "rrdcached.sock")
	l, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // nobody connects
	d := rondotest.StartDefault(t, db)
	d.Stop(t)
	if log := d.Log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "somebody listens there") {
		t.Errorf("no warning:\n%s", log)
	}
	if _, err := os.Lstat(name); err != nil {
		t.Errorf("the other's socket is gone: %v", err)
	}
}
