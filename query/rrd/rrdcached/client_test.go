package rrdcached_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/rrd/rrdclient"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// connect returns a client of a server, in whose base folder it works.
func connect(t testing.TB, addr net.Addr, base string) *rrdclient.Client {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chdir(base); err != nil { // as a process would be started there
		t.Fatal(err)
	}
	c, err := rrdclient.Dial(t.Context(), "unix:"+addr.String())
	if e := os.Chdir(here); e != nil {
		t.Fatal(e)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing is on its way
	return c
}

// run runs a verb of rrdtool with a client in a store's place.
func run(t testing.TB, c *rrdclient.Client, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	env := &rrdtool.Env{Store: c, Dir: c.Dir(), Stdout: &o, Stderr: &e, Location: time.UTC}
	code = rrdtool.Run(t.Context(), env, args)
	return code, o.String(), e.String()
}

// verbs are commands and what each prints; the error after an exclamation mark.
var clientVerbs = [][2]string{
	{"create a.rrd -s 10 -b 1000000000 DS:x:GAUGE:20:0:1e6 DS:y:COUNTER:20:U:U RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:6:10", ""},
	{"create a.rrd -O -s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10", "!ERROR: creating 'a.rrd': File exists\n"},
	{"update a.rrd 1000000010:1.5:100 1000000020:2:300", ""},
	{"update a.rrd -t y:x 1000000030:600:2.50", ""},
	{"update a.rrd -s 1000000020:9:9 1000000035.25:3:700", ""},
	{"update a.rrd 1000000010:1:2", "!minimum one second step)\n"},
	{"update a.rrd 1000000050:1", "!ERROR: a.rrd: expected 2 data source readings (got 1) from 1000000050\n"},
	{"lastupdate a.rrd", " x y\n\n1000000035: 3 700\n"},
	{"last a.rrd", "1000000035\n"},
	{"first a.rrd", "999999940\n"},
	{"fetch a.rrd AVERAGE -s 1000000000 -e 1000000025", "                              x                   y\n\n" +
		"1000000010: 1.5000000000e+00 -nan\n1000000020: 2.0000000000e+00 2.0000000000e+01\n1000000030: 2.5000000000e+00 3.0000000000e+01\n"},
	{"fetch nosuch.rrd AVERAGE", "!ERROR: opening 'nosuch.rrd': No such file or directory\n"},
	{"create b/h.rrd -s 10 -b 1000000000 DS:x:DERIVE:20:U:U RRA:HWPREDICT:20:0.1:0.1:5 RRA:LAST:0.5:2:5", ""},
	{"update b/h.rrd 1000000010:-5 1000000020:7", ""},
	{"lastupdate b/h.rrd", " x\n\n1000000020: 7\n"},
	{"list -r /", "a.rrd\nb/h.rrd\n"},
	{"tune a.rrd -h x:30 -a y:1e7", ""},
	{"tune a.rrd -h nosuch:30", "!unknown data source name 'nosuch'\n"},
	{"list -r /b", "h.rrd\n"},
	{"create f.rrd -s 10 -r a.rrd DS:z=x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10", ""},
	{"fetch f.rrd AVERAGE -s 1000000000 -e 1000000025", "                              z\n\n" +
		"1000000010: 1.5000000000e+00\n1000000020: 2.0000000000e+00\n1000000030: 2.5000000000e+00\n"},
	{"create f.rrd -O -r a.rrd DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10", "!ERROR: creating 'f.rrd': File exists\n"},
	{"create g.rrd -b 1000000040 -t f.rrd -r nosuch.rrd -r a.rrd", "!ERROR: error checking for source RRD nosuch.rrd: No such file or directory\n"},
	{"create g.rrd -b 1000000040 -t a.rrd -r f.rrd -r a.rrd", ""},
	{"fetch g.rrd AVERAGE -s 1000000010 -e 1000000035", "                              x                   y\n\n" +
		"1000000020: 2.0000000000e+00 2.0000000000e+01\n1000000030: 2.5000000000e+00 3.0000000000e+01\n1000000040: -nan -nan\n"},
}

func checkVerb(t *testing.T, c *rrdclient.Client, v [2]string) {
	t.Helper()
	_, out, errOut := run(t, c, strings.Fields(v[0])...)
	want, failure := strings.CutPrefix(v[1], "!")
	if failure && !strings.HasSuffix(errOut, want) || !failure && (out != want || errOut != "") {
		t.Errorf("%s:\ngot  %q %q\nwant %q", v[0], out, errOut, v[1])
	}
}

func TestClientIsAStore(t *testing.T) {
	s := serve(t, rrdcached.Options{}, 0)
	c := connect(t, s.addr, s.base)
	for _, v := range clientVerbs {
		checkVerb(t, c, v)
	}
	// What it shows of a state is what the store shows.
	for _, name := range []string{"a.rrd", "b/h.rrd"} {
		for _, verb := range []string{"info", "dump"} {
			_, got, errOut := run(t, c, verb, name)
			var want bytes.Buffer
			env := &rrdtool.Env{Store: s.store, Stdout: &want, Stderr: &want, Location: time.UTC}
			if code := rrdtool.Run(t.Context(), env, []string{verb, name}); code != 0 {
				t.Fatal(want.String())
			}
			if got != want.String() || errOut != "" {
				t.Errorf("%s %s:\n%s%s", verb, name, cmp.Diff(want.String(), got), errOut)
			}
		}
	}
	ref, err := c.Lookup(strings.TrimPrefix(s.base, "/") + "/a.rrd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Fetch(t.Context(), ref, 0, 0, 1); err == nil {
		t.Error("a client can be told which archive to read")
	}
}

// TestDialTellsWhatAnswers: another protocol's server is recognised, so that who dials can speak
// that.
func TestDialTellsWhatAnswers(t *testing.T) {
	for _, banner := range []string{"HTTP/1.1 400 Bad Request\r\n\r\n", "hello\n", ""} {
		l, err := net.Listen("unix", filepath.Join(shortDir(t), "s"))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 100))
			_, _ = c.Write([]byte(banner))
			_ = c.Close()
		}()
		_, err = rrdclient.Dial(t.Context(), l.Addr().String())
		if err == nil || banner != "" && !errors.Is(err, rrdclient.ErrProtocol) {
			t.Errorf("%q: %v", banner, err)
		}
		_ = l.Close() // no other comes
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rrdclient.Dial(ctx, filepath.Join(shortDir(t), "nosuch")); err == nil {
		t.Error("nobody listens there")
	}
}

// TestClientConnectsAgain: a session outlives the server. A request that the end of it has taken
// the answer of fails, and so do those that find no server; then all is as before.
func TestClientConnectsAgain(t *testing.T) {
	path := filepath.Join(shortDir(t), "s")
	begin := func(answers int) (end func()) {
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = l.Close() }() // the next one listens
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }() // that is what is tried
			in := bufio.NewReader(conn)
			for range answers {
				if _, err := in.ReadString('\n'); err != nil {
					return
				}
				_, _ = conn.Write([]byte("0 fine\n"))
			}
			_, _ = in.ReadString('\n') // and no answer
		}()
		return func() { <-ended }
	}
	end := begin(1)
	c, err := rrdclient.Dial(t.Context(), "unix:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // nothing is on its way
	if err := c.Tune(t.Context(), "a.rrd", nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("without an answer: %v", err)
	}
	end()
	if err := c.Tune(t.Context(), "a.rrd", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a server: %v", err)
	}
	end = begin(2) // to its greeting, and to what is asked
	if err := c.Tune(t.Context(), "a.rrd", nil); err != nil {
		t.Errorf("with the server back: %v", err)
	}
	_ = c.Close() // the server ends
	end()
}

// TestEndlessAnswer: a server that goes on and on is not listened to for ever.
func TestEndlessAnswer(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(shortDir(t), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // no other comes
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }() // the client has gone
		line := bytes.Repeat([]byte{'x'}, 1<<20)
		for range 64 {
			if _, err := c.Write(line); err != nil {
				return
			}
		}
	}()
	if _, err := rrdclient.Dial(t.Context(), l.Addr().String()); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
}
