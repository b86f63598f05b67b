package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestDaemons: verbs find out what answers at an address: rrdcached's protocol at a port or a
// socket, or rondo's own.
func TestDaemons(t *testing.T) {
	dir, err := os.MkdirTemp("", "rc") // a socket's name must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "rrd")
	if err := os.MkdirAll(filepath.Join(base, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	db, socket := filepath.Join(dir, "db"), "unix:"+filepath.Join(dir, "s")
	d := rondotest.Serve(t, db, "--rrdcached", socket, "--rrdcached", "127.0.0.1:0", "--rrdcached-base", base)
	port := d.Listens["rrdcached"]
	own := "unix:" + filepath.Join(db, "rondo.sock")
	do := func(folder, env, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command("rondo", args...)
		cmd.Dir = filepath.Join(base, folder)
		cmd.Env = append(os.Environ(), "TZ=UTC", "RONDO_DB="+filepath.Join(dir, "nosuch"), env)
		cmd.Stdin = strings.NewReader(stdin)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		if err := cmd.Run(); err != nil {
			return out.String() + "!" + errOut.String()
		}
		return out.String() + errOut.String()
	}
	made := "-s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10"
	for _, tt := range []struct{ folder, env, stdin, args, want string }{
		{args: "create a.rrd -d " + socket + " " + made},
		{folder: "sub", args: "create b.rrd --daemon " + socket + " " + made},
		{env: "RRDCACHED_ADDRESS=" + socket, args: "update a.rrd 1000000010:1"},
		{env: "RONDO_DAEMON=" + port, args: "update sub/b.rrd 1000000010:2"},
		{env: "RRDCACHED_ADDRESS=nosuch", args: "--daemon " + port + " rrdtool update sub/b.rrd 1000000020:3"},
		{args: "last a.rrd -d " + port, want: "1000000010\n"},
		{args: "last sub/b.rrd -d " + own, want: "1000000020\n"},
		{folder: "sub", args: "last " + base + "/a.rrd -d " + socket, want: "1000000010\n"},
		{args: "fetch sub/b.rrd AVERAGE -s 1000000010 -e 1000000019 -d " + socket, want: "                              x\n\n1000000020: 3.0000000000e+00\n"},
		{args: "list -r / -d " + port, want: "a.rrd\nsub/b.rrd\n"},
		{args: "tune a.rrd -h x:77 -D " + port},
		{args: "dump a.rrd -d nosuchhost.invalid:1", want: "!"},
		{stdin: "info a.rrd\nlast nosuch.rrd\n", args: "--daemon " + socket + " rrdtool -", want: "ds[x].minimal_heartbeat = 77\n"},
		{stdin: "last a.rrd -d " + port + "\n", args: "--db " + filepath.Join(dir, "other") + " rrdtool -", want: "1000000010\nOK"},
		{stdin: "last a.rrd -d " + own + "\n", args: "rrdtool -", want: "does not speak rrdcached's protocol"},
		{args: "restore - c.rrd --daemon " + socket, want: "!"},
		{args: "info a.rrd -d " + filepath.Join(dir, "nosuch"), want: "!ERROR: Unable to connect to rrdcached: No such file or directory\n"},
	} {
		got := do(tt.folder, tt.env, tt.stdin, strings.Fields(tt.args)...)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: got %q, want %q", tt.env, tt.args, got, tt.want)
		}
	}
	d.Stop(t)
}
