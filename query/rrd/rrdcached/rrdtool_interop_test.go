package rrdcached_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// A place is a server that the installed rrdtool has to ask.
type place struct {
	tool string
	base string
	addr net.Addr
}

var (
	rowNumber = regexp.MustCompile(`cur_row = \d+`)
	moved     = regexp.MustCompile(`failed: [:No such]*file: `) // librrd copies the text over itself
)

// ask runs rrdtool in the base folder and returns all that is seen of it: exit status, what it
// printed, and the pictures it drew. The address comes from the environment, or from an option.
func (p *place) ask(t *testing.T, byOption bool, args ...string) string {
	t.Helper()
	addr := p.addr.String()
	if p.addr.Network() == "unix" {
		addr = "unix:" + addr
	}
	env := []string{"TZ=UTC", "LC_ALL=C", "PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	if byOption {
		args = append(slices.Clone(args), "--daemon", addr)
	} else {
		env = append(env, "RRDCACHED_ADDRESS="+addr)
	}
	cmd := exec.Command(p.tool, args...)
	cmd.Dir, cmd.Env = p.base, env
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	text := fmt.Sprintf("exit %d\n%s\n%s", cmd.ProcessState.ExitCode(), out.String(), errOut.String())
	if picture, err := os.ReadFile(filepath.Join(p.base, "g.png")); err == nil {
		text += fmt.Sprintf("\npicture %d %x", len(picture), picture)
		_ = os.Remove(filepath.Join(p.base, "g.png")) // the next is another
	}
	text = strings.NewReplacer(p.base, "@BASE", addr, "@ADDR", p.addr.String(), "@ADDR").Replace(text)
	text = moved.ReplaceAllString(text, "failed: file: ")
	text = rowNumber.ReplaceAllString(signedNaN.ReplaceAllString(text, "nan"), "cur_row") // rrdtool's rings begin anywhere
	if args[0] == "list" {
		return sorted(text)
	}
	return text
}

// rrdtoolCommands are run one after the other; a tilde stands for a blank in a word.
var rrdtoolCommands = []string{
	"create a.rrd -s 10 -b 1000000000 " + rrdtoolMade,
	"create a.rrd -O -s 10 -b 1000000000 " + rrdtoolMade,
	"create sub/b.rrd --step 10 --start 1000000000 " + rrdtoolMade,
	"create c.rrd -s 10 " + rrdtoolMade + " RRA:FOO:0.5:1:2",
	"create c.rrd -s 10 DS:x:FOO:20:U:U RRA:AVERAGE:0.5:1:2",
	"create c.rrd -s 10s -b 1000000000 DS:x:GAUGE:1m:U:U RRA:AVERAGE:0.5:10s:1h",
	"create t.rrd -b 1000000000 -t a.rrd",
	"create t.rrd -b 1000000000 --template nosuch.rrd",
	"create h.rrd -s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:HWPREDICT:60:0.1:0.0035:12",
	"create",
	"create d.rrd",
	"update a.rrd 1000000010:1:100 1000000020:2:200 1000000030.5:3:350",
	"update a.rrd 1000000030:1:1",
	"update a.rrd 1000000040:4:400",
	"update a.rrd 1000000050:U:500 1000000060:6:U",
	"update a.rrd 1000000070:7:700",
	"update nosuch.rrd 1000000040:4:400",
	"update a.rrd x:1:2",
	"update a.rrd",
	"update sub/b.rrd 1000000010:5:50 1000000020:6:90 1000000030:7:95 1000000045:8:99",
	"update c.rrd 1000000010:1e3 1000000020:-2.5 1000000030:.5",
	"update h.rrd 1000000010:1 1000000020:2 1000000030:3 1000000040:4 1000000050:5",
	"info a.rrd",
	"info -F a.rrd",
	"info sub/b.rrd",
	"info h.rrd",
	"info nosuch.rrd",
	"info",
	"last a.rrd",
	"last nosuch.rrd",
	"first a.rrd",
	"first a.rrd --rraindex 1",
	"first a.rrd --rraindex 7",
	"first nosuch.rrd",
	"fetch a.rrd AVERAGE -s 1000000000 -e 1000000060",
	"fetch a.rrd MAX -s 999999000 -e 1000000060",
	"fetch a.rrd AVERAGE -s 1000000000 -e 1000000060 -r 60",
	"fetch a.rrd AVERAGE -s 1000000000 -e 1000000060 -r 20 -a",
	"fetch a.rrd AVERAGE --start 1000000000 --end start+1min",
	"fetch a.rrd MIN -s 1000000000 -e 1000000060",
	"fetch a.rrd FOO -s 1000000000 -e 1000000060",
	"fetch a.rrd AVERAGE -s 1000000060 -e 1000000000",
	"fetch nosuch.rrd AVERAGE -s 1000000000 -e 1000000060",
	"fetch h.rrd HWPREDICT -s 1000000000 -e 1000000060",
	"list /",
	"list -r /",
	"list --recursive /sub",
	"list /sub",
	"list /sub/b.rrd",
	"list /nosuch",
	"list -F /",
	"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE DEF:b=a.rrd:y:AVERAGE CDEF:c=a,b,+ XPORT:a:one XPORT:c:two",
	"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE DEF:b=sub/b.rrd:x:AVERAGE DEF:c=c.rrd:x:AVERAGE CDEF:s=a,b,c,ADDNAN,ADDNAN XPORT:s:sum XPORT:b",
	"xport --json -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:MAX XPORT:a",
	"xport --json -t --enumds --step 20 -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE DEF:b=sub/b.rrd:y:AVERAGE XPORT:a:a~legend XPORT:b",
	"xport --step 30 --maxrows 10 -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE:step=60:reduce=MAX XPORT:a",
	"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE:start=1000000000:end=1000000060 XPORT:a",
	"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE CDEF:b=a,PREV,UN,0,PREV,IF,+ VDEF:m=a,MAXIMUM CDEF:k=a,m,/ XPORT:b XPORT:k",
	"xport -s 1000000000 -e 1000000060 DEF:a=nosuch.rrd:x:AVERAGE XPORT:a",
	"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:nosuch:AVERAGE XPORT:a",
	"xport -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE XPORT:b",
	"graph - -s 1000000000 -e 1000000060 -a CSV DEF:a=a.rrd:x:AVERAGE DEF:b=sub/b.rrd:x:AVERAGE LINE1:a#ff0000:a LINE1:b#00ff00:b",
	"graph - -s 1000000000 -e 1000000060 --imgformat JSON DEF:a=a.rrd:x:AVERAGE LINE1:a#ff0000:a",
	"graph - -s 1000000000 -e 1000000060 --imgformat XMLENUM --step 20 DEF:a=a.rrd:x:MAX AREA:a#ff0000:a",
	"graph - -s 1000000000 -e 1000000060 -a SVG DEF:a=a.rrd:x:AVERAGE LINE1:a#ff0000:a GPRINT:a:LAST:%6.2lf%s",
	"graph g.png -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE PRINT:a:AVERAGE:%8.3lf PRINT:a:MAX:%8.3lf LINE1:a#ff0000",
	"graph g.png -w 500 -h 200 -t two~files -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE DEF:b=sub/b.rrd:y:MAX AREA:a#ff0000:a STACK:b#0000ff:b",
	"graphv g.png -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:AVERAGE VDEF:p=a,95,PERCENT PRINT:p:%lf LINE1:a#ff0000",
	"graph g.png -s 1000000000 -e 1000000060 DEF:a=nosuch.rrd:x:AVERAGE LINE1:a#ff0000",
	"graph g.png -s 1000000000 -e 1000000060 DEF:a=a.rrd:nosuch:AVERAGE LINE1:a#ff0000",
	"graph g.png -s 1000000000 -e 1000000060 DEF:a=a.rrd:x:MIN LINE1:a#ff0000",
	"flushcached a.rrd",
	"flushcached a.rrd sub/b.rrd",
	"flushcached nosuch.rrd",
	"create a.rrd -s 5 -b 1000000100 " + rrdtoolMade,
	"update a.rrd 1000000105:1:1 1000000110:2:2",
	"fetch a.rrd AVERAGE -s 1000000000 -e 1000000120",
}

const rrdtoolMade = "DS:x:GAUGE:20:U:U DS:y:COUNTER:20:0:U RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:6:10 RRA:AVERAGE:0.5:6:10"

// withoutOption reports whether a command has no --daemon, or ends before it is looked at.
func withoutOption(line string) bool {
	verb, rest, _ := strings.Cut(line, " ")
	return rest == "" || verb == "list" && strings.HasPrefix(rest, "-F")
}

// TestRRDToolsClient runs the unmodified rrdtool with --daemon against both, at a socket and at a
// port.
func TestRRDToolsClient(t *testing.T) {
	tool := rrdtooltest.Peer(t, "rrdtool")
	for _, network := range []string{"unix", "tcp"} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			theirs := startOriginal(t)
			s := serve(t, rrdcached.Options{}, 0)
			places := []*place{{tool, theirs.base, theirs.addr}, {tool, s.base, s.addr}}
			if network == "tcp" {
				port := freePort(t)
				o := startOriginal(t, "-l", port.String())
				places[0] = &place{tool, o.base, port}
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- s.Serve(ctx, l, rrdcached.Access{}) }()
				t.Cleanup(func() {
					cancel()
					if err := <-done; err != nil {
						t.Error(err)
					}
				})
				places[1] = &place{tool, s.base, l.Addr()}
			}
			for _, p := range places {
				if err := os.Mkdir(filepath.Join(p.base, "sub"), 0o700); err != nil { // where the client looks for names
					t.Fatal(err)
				}
			}
			for i, line := range rrdtoolCommands {
				args := strings.Fields(line)
				for j := range args {
					args[j] = strings.ReplaceAll(args[j], "~", " ")
				}
				byOption := i%2 == 0 && !withoutOption(line)
				want := places[0].ask(t, byOption, args...)
				if got := places[1].ask(t, byOption, args...); got != want {
					t.Errorf("%s\ngot\n%.2000s\nwant\n%.2000s", line, got, want)
				}
			}
			t.Logf("peer: rrdtool, %d commands compared", len(rrdtoolCommands))
		})
	}
}

// freePort returns a port that nobody listens at.
func freePort(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it is free then
	return l.Addr()
}

// sorted sorts lines. A line may occur twice.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "\n")
}
