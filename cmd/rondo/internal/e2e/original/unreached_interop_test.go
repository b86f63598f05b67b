package original

import (
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

// TestUnreachedAsOriginal compares what verbs say of a daemon that cannot be reached, and of
// arguments that are wrong before it is asked.
func TestUnreachedAsOriginal(t *testing.T) {
	tool := rrdtooltest.Peer(t, "rrdtool")
	create := strings.Fields("create a.rrd -b 1000000000 -s 10 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:5")
	for _, addr := range []string{"unix:/none", "127.0.0.1:1"} {
		dir := t.TempDir()
		plain := []string{"LC_ALL=C", "TZ=UTC", "RRDCACHED_ADDRESS=", "RONDO_DB=" + dir + "/db"}
		theirs, ours := &single{site{program: tool, dir: dir, xml: dir, env: plain}}, &single{site{program: "rondo", lead: []string{"rrdtool"}, dir: dir, xml: dir, env: plain}}
		for _, p := range []*single{theirs, ours} {
			if a, ok := p.run(create); !ok || a.Exit != 0 {
				t.Fatalf("%+v", a)
			}
			p.env = append(plain[:2:2], "RRDCACHED_ADDRESS="+addr, plain[3])
		}
		for _, line := range []string{
			"last a.rrd", "first a.rrd", "lastupdate a.rrd", "info a.rrd", "fetch a.rrd AVERAGE -s 1000000000 -e 1000000020", "update a.rrd 1000000010:1",
			"xport -s 1000000000 -e 1000000020 DEF:a=a.rrd:x:AVERAGE XPORT:a", "flushcached a.rrd", "updatev a.rrd 1000000010:1",
			"graph o.svg -a SVG -s 1000000000 -e 1000000020 DEF:a=a.rrd:x:AVERAGE LINE:a#f00:x", "graphv o.svg -a SVG -s 1000000000 -e 1000000020 DEF:a=a.rrd:x:AVERAGE LINE:a#f00:x",
			`graph o.svg -a SVG -s 1000000000 -e 1000000020 DEF:a=a.rrd:x:AVERAGE:daemon=unix\:/none2 LINE:a#f00:x`,
			"last a.rrd b", "info -q", "fetch a.rrd AVERAGE -s foo", "update a.rrd", "update a.rrd -q 5:1", "xport -m 5", "flushcached -q",
		} {
			args := strings.Fields(line)
			want, ok := theirs.run(args)
			got, also := ours.run(args)
			if !ok || !also {
				t.Fatalf("%s: %+v, %+v", line, want, got)
			}
			// rrdtool reads the file all the same, and rondo has none.
			if args[0] != "updatev" {
				want.Stdout, got.Stdout = "", ""
			}
			if comparable(args, want) != comparable(args, got) {
				t.Errorf("%s, %s: rrdtool %+v, rondo %+v", addr, line, want, got)
			}
		}
	}
}
