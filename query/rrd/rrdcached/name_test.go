package rrdcached_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// TestNamesOfABaseBehindALink: a client on this machine sends names without symbolic links, another
// the base as it was given, and all of them mean the same series in every command.
func TestNamesOfABaseBehindALink(t *testing.T) {
	dir := shortDir(t)
	realDir, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.Mkdir(realDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(realDir, link); err != nil {
		t.Fatal(err)
	}
	s := serve(t, rrdcached.Options{Base: link}, 0)
	p := dial(t, s.addr)
	for i, base := range []string{realDir + "/", link + "/", ""} {
		name := base + "sub/" + string(rune('a'+i)) + ".rrd"
		shown := name
		if base == "" {
			shown = link + "/" + name
		}
		for _, tt := range [][2]string{
			{"CREATE NAME" + definition, "0 RRD created OK\n"},
			{"CREATE NAME -O" + definition, "-1 RRD Error: creating 'SHOWN': File exists\n"},
			{"UPDATE NAME 1000000010:1", "0 errors, enqueued 1 value(s).\n"},
			{"FLUSH NAME", "0 Successfully flushed SHOWN.\n"},
			{"PENDING NAME", "0 updates pending\n"},
			{"TUNE NAME -h x:50", "0 RRD tuned OK\n"},
			{"CREATE NAME.t -b 1000000010 -t NAME -r NAME", "0 RRD created OK\n"},
			{"CREATE NAME.u -b 1000000010 -t " + realDir + "/sub/a.rrd -r " + link + "/sub/a.rrd", "0 RRD created OK\n"},
			{"CREATE NAME.v -t NAMEx", "-1 RRD Error: Cannot open template RRD NAMEx\n"},
			{"LAST NAME", "0 1000000010\n"},
			{"LAST NAME.t", "0 1000000010\n"},
			{"FIRST NAME.u 0", "0 999999920\n"},
			{"SUSPEND NAME", "0 SHOWN suspended\n"},
			{"RESUME NAME", "0 SHOWN resumed\n"},
			{"FORGET NAME", "0 Gone!\n"},
			{"DUMP NAMEx", "-1 RRD Error: opening 'SHOWNx': No such file or directory\n"},
			{"TUNE NAMEx", "-1 RRD Error: opening 'SHOWNx': No such file or directory\n"},
			{"INFO NAMEx", "-1 RRD Error: opening 'SHOWNx': No such file or directory\n"},
		} {
			request, want := strings.ReplaceAll(tt[0], "NAME", name), strings.NewReplacer("SHOWN", shown, "NAME", name).Replace(tt[1])
			if got := p.ask(request); got != want {
				t.Errorf("%s: got %q, want %q", request, got, want)
			}
		}
		if got := p.ask("INFO " + name); !strings.Contains(got, "\nfilename 2 "+shown+"\n") {
			t.Errorf("INFO %s: %q", name, got)
		}
		if got := dumped(t, s, name); !strings.Contains(got, "<lastupdate>1000000010</lastupdate>") {
			t.Errorf("DUMP %s: %q", name, got)
		}
	}
	if got, want := p.ask("LIST RECURSIVE /sub"), "9 RRDs\na.rrd\na.rrd.t\na.rrd.u\nb.rrd\nb.rrd.t\nb.rrd.u\nc.rrd\nc.rrd.t\nc.rrd.u\n"; got != want {
		t.Errorf("LIST: got %q, want %q", got, want)
	}
	for _, outside := range []string{"/etc/passwd", dir + "/x.rrd", realDir + "/../x.rrd", link + "x/a.rrd", "../x.rrd", "sub/../../x.rrd", dir} {
		for _, request := range []string{"UPDATE NAME 1000000010:1", "CREATE NAME" + definition, "FLUSH NAME", "SUSPEND NAME", "INFO NAME", "FETCH NAME AVERAGE", "LAST NAME", "FIRST NAME 0", "TUNE NAME -h x:1", "DUMP NAME"} {
			if got := p.ask(strings.ReplaceAll(request, "NAME", outside)); !strings.HasPrefix(got, "-1 ") || !strings.Contains(got, "Permission denied") {
				t.Errorf("%s of %s: %q", request, outside, got)
			}
		}
	}
}
