package main

import (
	"bytes"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// defaultServer starts a server on the folder db that listens where it does by default, at ports of
// its own.
func defaultServer(t *testing.T, db string) *daemon {
	t.Helper()
	const anyPort = "127.0.0.1:0"
	return startServer(t, db, "--http", anyPort, "--collectd", anyPort, "--gmetric", anyPort)
}

// TestNoLineProtocolOnTCPByDefault: rrdcached's protocol is spoken on a socket of the owner alone,
// and TCP ports that can change series are opened only when they are asked for.
func TestNoLineProtocolOnTCPByDefault(t *testing.T) {
	t.Chdir(t.TempDir()) // a note of the series is left in the working folder
	db := filepath.Join(t.TempDir(), "rondo.db")
	d := defaultServer(t, db)
	want := []string{"collectd", "command line", "gmetric", "http", "rrdcached"}
	if got := slices.Sorted(maps.Keys(d.listens)); !slices.Equal(got, want) {
		t.Errorf("listening for %q, want %q", got, want)
	}
	name := filepath.Join(db, "rrdcached.sock")
	if d.listens["rrdcached"] != name {
		t.Errorf("rrdcached's protocol is spoken at %s, want %s", d.listens["rrdcached"], name)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != fs.ModeSocket|0o600 {
		t.Errorf("the socket's mode is %v", info.Mode())
	}
	if out := rondo(t, db, "--daemon", "unix:"+name, "create", "a", "--start", "1000000000", "DS:v:GAUGE:600:U:U", "RRA:LAST:0.5:1:5"); out != "" {
		t.Errorf("create prints %q", out)
	}
	if out := rondo(t, db, "last", "a"); out != "1000000000\n" {
		t.Errorf("last prints %q", out)
	}
	d.stop(t)
	if _, err := os.Lstat(name); err == nil {
		t.Error("the socket is still there after the end")
	}
}

// TestTranscriptOfThePage compares what the page says the server listens for with what it does.
func TestTranscriptOfThePage(t *testing.T) {
	d := defaultServer(t, filepath.Join(t.TempDir(), "rondo.db"))
	f := ofLang(t, readFences(t, root+"/docs/serve.md"), "text")[0]
	told := make(map[string]bool)
	for _, m := range listening.FindAllStringSubmatch(f.text, -1) {
		told[m[1]] = true
		got := d.listens[m[1]]
		if filepath.IsAbs(m[2]) {
			if filepath.Base(m[2]) != filepath.Base(got) {
				t.Errorf("docs/serve.md:%d: %s listens at %s, want %s", f.line, m[1], m[2], got)
			}
			continue
		}
		_, flags := newServeSettings(&common{process: &process{lookupEnv: func(string) (string, bool) { return "", false }}})
		if want := strings.Trim(flags.Flags().Lookup(m[1]).DefValue, "[]"); m[2] != want || got == "" {
			t.Errorf("docs/serve.md:%d: %s listens at %s; its default is %s", f.line, m[1], m[2], want)
		}
	}
	for name := range d.listens {
		if !told[name] {
			t.Errorf("docs/serve.md:%d: it does not say that the server listens for %s", f.line, name)
		}
	}
}

// TestGraphOfThePageInterop runs the page's graph with the original rrdtool, over the socket of a
// server that listens by default.
func TestGraphOfThePageInterop(t *testing.T) {
	needRRDTool(t)
	dir := t.TempDir()
	t.Chdir(dir)
	db := filepath.Join(dir, "rondo.db")
	defaultServer(t, db)
	rondo(t, db, "create", "web1/load/load.rrd", "--start", "now-1h", "--step", "60", "DS:shortterm:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:1440")
	rondo(t, db, "update", "web1/load/load.rrd", "now-10min@1", "now-9min@2", "now-8min@3")
	for _, f := range ofLang(t, readFences(t, filepath.Join(moduleRoot, "docs/clients.md")), "sh") {
		if strings.Contains(f.text, "rrdtool graph") {
			runLine(t, dir, f.text)
		}
	}
	picture, err := os.ReadFile("load.png")
	if err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("%v, a picture that begins %.8q", err, picture)
	}
}

// moduleRoot is the module's folder in full, for tests that change the folder.
var moduleRoot = func() string {
	abs, err := filepath.Abs(root)
	if err != nil {
		panic(err)
	}
	return abs
}()

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
	d := defaultServer(t, db)
	d.stop(t)
	if log := d.log.String(); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "somebody listens there") {
		t.Errorf("no warning:\n%s", log)
	}
	if _, err := os.Lstat(name); err != nil {
		t.Errorf("the other's socket is gone: %v", err)
	}
}
