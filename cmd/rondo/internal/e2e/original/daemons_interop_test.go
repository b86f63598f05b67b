package original

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// daemonCommands are run by rrdtool and by rondo against one rrdcached, on files of a folder of
// their own, which is called @ here. A tilde stands for a blank, and daemon=! for the address.
var daemonCommands = []string{
	"create @/a.rrd -s 10 -b 1000000000 " + daemonMade,
	"create @/a.rrd -O -s 10 -b 1000000000 " + daemonMade,
	"create @/b.rrd --step 10 --start 1000000000 " + daemonMade,
	"create @/c.rrd -s 10 DS:x:FOO:20:U:U RRA:AVERAGE:0.5:1:2",
	"create @/h.rrd -s 10 -b 1000000000 DS:x:GAUGE:20:U:U RRA:HWPREDICT:60:0.1:0.0035:12",
	"create @/c.rrd -s 10s -b 1000000000 DS:x:GAUGE:1m:U:U RRA:AVERAGE:0.5:10s:1h",
	"update @/a.rrd 1000000010:1:100 1000000020:2:200 1000000030:3:300",
	"update @/a.rrd 1000000040:4:400",
	"update @/a.rrd 1000000050:U:500 1000000060:6:U",
	"update @/b.rrd 1000000010:5:50 1000000020:6:90 1000000030:7:95 1000000050:8:99",
	"update @/c.rrd 1000000010:1e3 1000000020:-2.5 1000000030:.5",
	"update @/h.rrd 1000000010:1 1000000020:2 1000000030:3",
	"update @/a.rrd",
	"info @/a.rrd",
	"info @/h.rrd",
	"info @/b.rrd",
	"last @/a.rrd",
	"first @/a.rrd",
	"first @/a.rrd --rraindex 1",
	"fetch @/a.rrd AVERAGE -s 1000000000 -e 1000000060",
	"fetch @/a.rrd MAX -s 999999000 -e 1000000060",
	"fetch @/a.rrd AVERAGE -s 1000000000 -e 1000000060 -r 60",
	"fetch @/a.rrd AVERAGE --start 1000000000 --end start+1min",
	"fetch @/h.rrd HWPREDICT -s 1000000000 -e 1000000060",
	"fetch @/a.rrd FOO -s 1000000000 -e 1000000060",
	"fetch @/a.rrd AVERAGE -s 1000000060 -e 1000000000",
	"list /@",
	"list -r /@",
	"list --recursive /@/",
	"xport -s 1000000000 -e 1000000060 DEF:a=@/a.rrd:x:AVERAGE DEF:b=@/a.rrd:y:AVERAGE CDEF:c=a,b,+ XPORT:a:one XPORT:c:two",
	"xport -s 1000000000 -e 1000000060 DEF:a=@/a.rrd:x:AVERAGE DEF:b=@/b.rrd:x:AVERAGE DEF:c=@/c.rrd:x:AVERAGE CDEF:s=a,b,c,ADDNAN,ADDNAN XPORT:s:sum XPORT:b",
	"xport --json -t --enumds --step 20 -s 1000000000 -e 1000000060 DEF:a=@/a.rrd:x:AVERAGE DEF:b=@/b.rrd:y:AVERAGE XPORT:a:a~legend XPORT:b",
	"xport --step 30 --maxrows 10 -s 1000000000 -e 1000000060 DEF:a=@/a.rrd:x:AVERAGE:step=60:reduce=MAX XPORT:a",
	"update @/a.rrd 1000000070:7:500 1000000080:8:520", // graph has it flushed
	"graph @/o.svg -a SVG -s 1000000000 -e 1000000080 DEF:a=@/a.rrd:x:AVERAGE LINE:a#f00:x PRINT:a:LAST:%lf",
	"update @/a.rrd 1000000090:9:530",
	"graphv @/o.svg -a SVG -s 1000000000 -e 1000000090 DEF:a=@/a.rrd:x:AVERAGE DEF:b=@/b.rrd:y:MAX:step=60:reduce=MIN CDEF:c=a,b,+ AREA:c#0f0:sum~of~both LINE:a#f00:x GPRINT:a:MAX:%.2lf PRINT:c:AVERAGE:%lf",
	"update @/a.rrd 1000000100:10:540",
	"graphv @/o.svg -a SVG -s 1000000000 -e 1000000100 DEF:a=@/a.rrd:x:AVERAGE:daemon=! LINE:a#f00:x PRINT:a:LAST:%lf",
	"graph @/o.json -a JSON -s 1000000000 -e 1000000100 DEF:a=@/a.rrd:x:AVERAGE:daemon=! DEF:b=@/b.rrd:x:AVERAGE LINE:a#f00:x LINE:b#f00:x PRINT:a:LAST:%lf PRINT:b:LAST:%lf",
	"graph @/o.svg -a SVG -s 1000000000 -e 1000000080 DEF:a=@/none.rrd:x:AVERAGE LINE:a#f00:x",
	"graph @/o.svg -a SVG -s 1000000000 -e 1000000080 DEF:a=@/a.rrd:none:AVERAGE LINE:a#f00:x",
	"graph @/o.svg -a SVG -s 1000000000 -e 1000000080 DEF:a=@/a.rrd:x:LAST LINE:a#f00:x",
	"flushcached @/a.rrd",
	"flushcached @/a.rrd @/b.rrd",
	"lastupdate @/a.rrd",
	"create @/t.rrd -b 1000000000 -t @/a.rrd",
	"create @/a.rrd -s 5 -b 1000000100 " + daemonMade,
	"update @/a.rrd 1000000105:1:1 1000000110:2:2",
	"last @/a.rrd",
}

const daemonMade = "DS:x:GAUGE:20:U:U DS:y:COUNTER:20:0:U RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:6:10 RRA:AVERAGE:0.5:6:10"

// TestDaemonsAsRRDTool runs rondo's verbs with --daemon, or RRDCACHED_ADDRESS, against rrdcached at
// a socket and at a port: what they print, and do, is what rrdtool prints and does.
func TestDaemonsAsRRDTool(t *testing.T) {
	t.Parallel()
	rrdtooltest.Need(t, "rrdtool", "rrdcached")
	dir, err := os.MkdirTemp("", "rc") // a socket's name must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	base, socket := filepath.Join(dir, "base"), filepath.Join(dir, "s")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().String()
	if err := errors.Join(l.Close(), os.Mkdir(base, 0o700)); err != nil { // the port is free now
		t.Fatal(err)
	}
	rrdtooltest.RRDCached(t, base, socket, "-l", port)
	rrdtooltest.Listening(t, "tcp", port)
	daemons := regexp.MustCompile(`rrdcached@\S+: (RRD Error: |rrd_fetch_r failed: )?`) // rondo says what is wrong with the series, whoever says so
	random := regexp.MustCompile(`(?m)^rra\[\d+\]\.cur_row = \d+$|-?\bnan\b`)           // rrdtool's rings begin anywhere
	do := func(program, folder, addr, line string, byOption bool) string {
		t.Helper()
		args := strings.Fields(strings.ReplaceAll(line, "@", folder))
		for i := range args {
			args[i] = strings.NewReplacer("~", " ", "daemon=!", "daemon="+strings.ReplaceAll(addr, ":", `\:`)).Replace(args[i])
		}
		env := append(os.Environ(), "TZ=UTC", "LC_ALL=C", "RONDO_DB="+filepath.Join(dir, "nosuch"))
		if byOption {
			args = append(args, "--daemon", addr)
		} else {
			env = append(env, "RRDCACHED_ADDRESS="+addr)
		}
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = base, env
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		text := "0\n"
		if err := cmd.Run(); err != nil {
			text = err.Error() + "\n"
		}
		text += out.String() + errOut.String()
		text = strings.NewReplacer(base+"/"+folder+"/", "@/", folder+"/", "@/").Replace(text)
		text = daemons.ReplaceAllString(text, "")
		text = random.ReplaceAllString(text, "any")
		if strings.HasPrefix(line, "list") {
			return sortedLines(text)
		}
		return text
	}
	for _, addr := range []string{"unix:" + socket, port} {
		network, _, _ := strings.Cut(addr, ":")
		theirs, ours := "original"+network, "rondo"+network
		for _, folder := range []string{theirs, ours} {
			if err := os.Mkdir(filepath.Join(base, folder), 0o700); err != nil { // where rrdtool looks for names
				t.Fatal(err)
			}
		}
		for i, line := range daemonCommands {
			want := do("rrdtool", theirs, addr, line, i%2 == 0)
			if got := do("rondo", ours, addr, line, i%2 == 0); got != want {
				t.Errorf("%s at %s\ngot  %s\nwant %s", line, addr, got, want)
			}
		}
	}
	t.Logf("peer: rrdtool and rrdcached, %d commands compared", 2*len(daemonCommands))
}
