package rrdtool_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

func TestDaemonIsTakenOut(t *testing.T) {
	for _, tt := range []struct {
		args, addr, rest string
		takes            bool
	}{
		{"fetch a.rrd AVERAGE -d /s -r 60", "/s", "fetch a.rrd AVERAGE -r 60", true},
		{"fetch a.rrd AVERAGE -ad/s -s -1h", "/s", "fetch a.rrd AVERAGE -a -s -1h", true},
		{"update --daemon=host:1 a.rrd -- -5:1", "host:1", "update a.rrd -- -5:1", true},
		{"graph - -gdunix:/d/s COMMENT:d", "unix:/d/s", "graph - -g COMMENT:d", true},
		{"graph - -gd /d/s -f d COMMENT:d", "/d/s", "graph - -g -f d COMMENT:d", true},
		{"tune a.rrd -d x:GAUGE", "", "tune a.rrd -d x:GAUGE", true},
		{"tune a.rrd -D unix:/s -d x:GAUGE", "unix:/s", "tune a.rrd -d x:GAUGE", true},
		{"fetch a.rrd -q -d /s", "", "fetch a.rrd -q -d /s", true},
		{"last -- -d /s", "", "last -- -d /s", true},
		{"updatev -d /s a.rrd", "", "updatev -d /s a.rrd", false},
		{"nosuch -d /s", "", "nosuch -d /s", false},
	} {
		addr, rest, takes := rrdtool.Daemon(strings.Fields(tt.args))
		if addr != tt.addr || !slices.Equal(rest, strings.Fields(tt.rest)) || takes != tt.takes {
			t.Errorf("%s: got %q, %q, %v", tt.args, addr, rest, takes)
		}
	}
	if addr, rest, takes := rrdtool.Daemon(nil); addr != "" || rest != nil || takes {
		t.Error("no arguments have an address")
	}
}
