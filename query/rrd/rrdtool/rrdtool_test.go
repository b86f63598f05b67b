package rrdtool_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// said is what commands, a line each, print: a line "$ COMMAND", then stdout,
// then "! " and stderr, then "= " and the exit code if it is not 0.
func said(r *rondo, commands string) string {
	var b strings.Builder
	for line := range strings.Lines(commands) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		a := r.run(strings.Fields(line))
		b.WriteString("$ " + line + "\n" + a.Stdout)
		if a.Stderr != "" {
			b.WriteString("! " + strings.TrimSuffix(a.Stderr, "\n") + "\n")
		}
		if a.Exit != 0 {
			b.WriteString("= 1\n")
		}
	}
	return b.String()
}

func newRondo() *rondo {
	return &rondo{store: newMemory(), now: time.Unix(1200000100, 0), loc: time.UTC}
}

func check(t *testing.T, r *rondo, commands, want string) {
	t.Helper()
	if d := cmp.Diff(strings.TrimLeft(want, "\n"), said(r, commands)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestWitness compares with what rrdtool 1.7.2 printed, for machines without an rrdtool.
func TestWitness(t *testing.T) {
	b, err := os.ReadFile("testdata/rrdtool/series.txt")
	if err != nil {
		t.Fatal(err)
	}
	var commands strings.Builder
	for line := range strings.Lines(string(b)) {
		if c, ok := strings.CutPrefix(line, "$ "); ok {
			commands.WriteString(c)
		}
	}
	check(t, newRondo(), commands.String(), string(b))
}

func TestNames(t *testing.T) {
	const ds = " -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3"
	check(t, newRondo(), `
		create ./web//cpu.rrd`+ds+`
		create web/disk/sda`+ds+`
		create /abs.rrd`+ds+`
		create ../out.rrd`+ds+`
		create web/../../out.rrd`+ds+`
		create .`+ds+`
		last web/cpu
		last /web/disk/../cpu.rrd
		last web/disk/sda.rrd
		last ../web/cpu.rrd
		list
		list .
		list web
		list -r web/
		list web/disk/sda
		list nosuch
		list web/..
	`, `
$ create ./web//cpu.rrd -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3
$ create web/disk/sda -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3
$ create /abs.rrd -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3
$ create ../out.rrd -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3
! ERROR: creating '../out.rrd': Permission denied
= 1
$ create web/../../out.rrd -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3
! ERROR: creating 'web/../../out.rrd': Permission denied
= 1
$ create . -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3
! ERROR: creating '.': No such file or directory
= 1
$ last web/cpu
1200000000
$ last /web/disk/../cpu.rrd
1200000000
$ last web/disk/sda.rrd
1200000000
$ last ../web/cpu.rrd
-1
! ERROR: opening '../web/cpu.rrd': Permission denied
= 1
$ list
abs.rrd
web/cpu.rrd
web/disk/sda
$ list .
abs.rrd
web
$ list web
cpu.rrd
disk
$ list -r web/
cpu.rrd
disk/sda
$ list web/disk/sda
! Not a directory
$ list nosuch
! No such file or directory
$ list web/..
! Permission denied
`)
}

func TestBaseAndDir(t *testing.T) {
	store := newMemory()
	run := func(dir, base, line string) string {
		var out, errs strings.Builder
		rrdtool.Run(t.Context(), &rrdtool.Env{
			Store: store, Stdout: &out, Stderr: &errs, Dir: dir, Base: base,
		}, strings.Fields(line))
		return out.String() + errs.String()
	}
	run("", "", "create var/a.rrd -b 1200000000 DS:x:GAUGE:600:U:U RRA:LAST:0:1:3")
	for _, tt := range []struct{ dir, base, name, want string }{
		{"", "", "/var/a.rrd", "1200000000\n"},
		{"var", "", "a.rrd", "1200000000\n"},
		{"var/log", "", "../a.rrd", "1200000000\n"},
		{"var", "", "/var/a.rrd", "1200000000\n"},
		{"", "/srv/rrd", "/srv/rrd/var/a.rrd", "1200000000\n"},
		{"", "/srv/rrd/", "/srv/rrd//var/a.rrd", "1200000000\n"},
		{"", "/srv/rrd", "var/a.rrd", "1200000000\n"},
		{"", "/srv/rrd", "/srv/rrdx/var/a.rrd", "-1\nERROR: opening '/srv/rrdx/var/a.rrd': Permission denied\n"},
		{"", "/srv/rrd", "/srv/rrd/../var/a.rrd", "-1\nERROR: opening '/srv/rrd/../var/a.rrd': Permission denied\n"},
		{"", "/", "/var/a.rrd", "1200000000\n"},
	} {
		if got := run(tt.dir, tt.base, "last "+tt.name); got != tt.want {
			t.Errorf("last %s in %q with base %q: got %q, want %q", tt.name, tt.dir, tt.base, got, tt.want)
		}
	}
}

func TestUsage(t *testing.T) {
	r := newRondo()
	for _, v := range rrdtool.Verbs() {
		if a := r.run([]string{"help", v}); a.Exit != 0 || !strings.Contains(a.Stdout, "usage: rondo "+v) {
			t.Errorf("help %s: %+v", v, a)
		}
	}
	for _, args := range [][]string{nil, {"help"}, {"nosuch"}, {"-h"}, {"--version"}} {
		if a := r.run(args); a.Exit != 0 || !strings.Contains(a.Stdout, "usage: rondo VERB") {
			t.Errorf("%q: %+v", args, a)
		}
	}
}
