package rrdtool_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestAlterNothing: a series that is altered to the definition it already has goes on unchanged.
func TestAlterNothing(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := seedtest.Rand(t)
			s := open(t)
			for i := range seedtest.Programs(10, 10) {
				g := &generator{r: rand.New(rand.NewPCG(r.Uint64(), 8))}
				a := &rondo{store: s, dir: fmt.Sprintf("a%d", i), now: time.Unix(1200200000, 0), loc: time.UTC}
				b := &rondo{store: s, dir: fmt.Sprintf("b%d", i), now: a.now, loc: time.UTC}
				program := [][]string{g.create("a.rrd")}
				for range 20 {
					program = append(program, g.update("update"), g.fetch(), []string{"info", "a.rrd"})
				}
				var shown strings.Builder
				for j, args := range program {
					fmt.Fprintf(&shown, "%s\n", quoted(args))
					if g.one(4) && j > 0 {
						if got := b.run([]string{"alter", "a.rrd", "--output=none"}); got != (answer{}) {
							t.Fatalf("%salter: %+v", shown.String(), got)
						}
						fmt.Fprintf(&shown, "alter\n")
					}
					want, got := a.run(args), b.run(args)
					want.Stdout, got.Stdout = random.ReplaceAllString(want.Stdout, ""), random.ReplaceAllString(got.Stdout, "")
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("(-as it was +altered):\n%s%s", shown.String(), d)
					}
				}
			}
		})
	}
}

// random is what differs between two series of the same history: where their rings stand.
var random = regexp.MustCompile(`.*(cur_row|rrd_version) = .*\n`)

// TestAlter changes step, archives and data sources of a series that grows by 10 each 300 s.
func TestAlter(t *testing.T) {
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			r := &rondo{store: open(t), now: time.Unix(1200200000, 0), loc: time.UTC}
			const begin = 1200000000
			run := func(line string) string {
				t.Helper()
				a := r.run(strings.Fields(line))
				if a.Exit != 0 {
					t.Fatalf("%s: %s", line, a.Stderr)
				}
				return a.Stdout
			}
			run("create a.rrd -b 1200000000 -s 300 DS:x:GAUGE:600:U:U DS:y:GAUGE:600:U:U DS:z:COMPUTE:x,2,* RRA:AVERAGE:0.5:1:48 RRA:MAX:0.5:12:24")
			for i := range 40 {
				run(fmt.Sprintf("update a.rrd %d:%d:%d", begin+300*(i+1), 10*i, i))
			}
			rows := func(cf string, step int) string {
				return run(fmt.Sprintf("fetch a.rrd %s -r %d -s %d -e %d", cf, step, begin+3600, begin+39*300))
			}
			fine, coarse := rows("AVERAGE", 300), rows("MAX", 3600)
			if got := run("alter a.rrd --step 60 --add-rra RRA:AVERAGE:0.5:5m:2d --add-rra RRA:AVERAGE:0.5:1h:3d"); !strings.Contains(got, "RRA:AVERAGE:0.5:5:48 ") {
				t.Errorf("alter prints\n%s", got)
			}
			if d := cmp.Diff(fine, rows("AVERAGE", 300)); d != "" {
				t.Errorf("rows of 300 s (-before +after):\n%s", d)
			}
			if d := cmp.Diff(coarse, rows("MAX", 3600)); d != "" {
				t.Errorf("rows of an hour (-before +after):\n%s", d)
			}
			if got := rows("AVERAGE", 3600); !strings.Contains(got, "1200006000: 1.3500000000e+02 1.3500000000e+01 2.7000000000e+02\n") {
				t.Errorf("rows made of finer ones:\n%s", got)
			}
			run(fmt.Sprintf("update a.rrd %d:7:7", begin+41*300))
			if got := rows("AVERAGE", 300); got != fine {
				t.Errorf("rows after an update:\n%s", got)
			}
			run("alter a.rrd --rename x:in --drop-ds y --ds DS:new:COUNTER:600:0:U --rra RRA:AVERAGE:0.5:5m:2d")
			info := run("info a.rrd")
			for _, want := range []string{`ds[z].cdef = "in,2,*"`, "ds[new].index = 2", "rra[0].rows = 576"} {
				if !strings.Contains(info, want) {
					t.Errorf("info has no %s:\n%s", want, info)
				}
			}
			if strings.Contains(info, "rra[1]") || strings.Contains(info, "ds[y]") {
				t.Errorf("what was dropped is there:\n%s", info)
			}
			if got := run(fmt.Sprintf("fetch a.rrd AVERAGE -s %d -e %d -r 300", begin+3600, begin+3600)); !strings.Contains(got, "1200003900: 1.2000000000e+02 2.4000000000e+02 -nan\n") {
				t.Errorf("after all\n%s", got)
			}
		})
	}
}

func TestAlterRefuses(t *testing.T) {
	r := newRondo()
	check(t, r, `
		create a.rrd -b 1200000000 DS:x:GAUGE:600:U:U DS:z:COMPUTE:x,2,* RRA:LAST:0:1:3
		alter a.rrd b.rrd
		alter b.rrd
		alter a.rrd --step 0
		alter a.rrd --step 7
		alter a.rrd --drop-ds x
		alter a.rrd --drop-ds q
		alter a.rrd --rename q:r
		alter a.rrd --rename x:z
		alter a.rrd --rename x
		alter a.rrd --drop-rra 0
		alter a.rrd --drop-rra 1
		alter a.rrd --rra RRA:MAX:0:1:3 --drop-rra 0
		alter a.rrd --ds DS:x:GAUGE:0:U:U
		alter a.rrd -o xml
		alter a.rrd -n -o json --add-rra RRA:MAX:0:2:3
		alter a.rrd
	`, `
$ create a.rrd -b 1200000000 DS:x:GAUGE:600:U:U DS:z:COMPUTE:x,2,* RRA:LAST:0:1:3
$ alter a.rrd b.rrd
! ERROR: alter needs the name of one series
= 1
$ alter b.rrd
! ERROR: opening 'b.rrd': No such file or directory
= 1
$ alter a.rrd --step 0
! ERROR: step size: value must be positive
= 1
$ alter a.rrd --step 7
! ERROR: archive RRA:LAST:0:1:3 has rows of 300 s, which the step 7 does not divide: say --rra
= 1
$ alter a.rrd --drop-ds x
! ERROR: data source 'x' is needed by 'z'
= 1
$ alter a.rrd --drop-ds q
! ERROR: unknown data source name 'q'
= 1
$ alter a.rrd --rename q:r
! ERROR: unknown data source name 'q'
= 1
$ alter a.rrd --rename x:z
! ERROR: there is a data source 'z' already
= 1
$ alter a.rrd --rename x
! ERROR: --rename x: must be OLD:NEW
= 1
$ alter a.rrd --drop-rra 0
! ERROR: a series needs an archive
= 1
$ alter a.rrd --drop-rra 1
! ERROR: there is no archive 1
= 1
$ alter a.rrd --rra RRA:MAX:0:1:3 --drop-rra 0
! ERROR: --rra names all archives: --add-rra and --drop-rra do not go with it
= 1
$ alter a.rrd --ds DS:x:GAUGE:0:U:U
! ERROR: failed to parse data source 0:U:U: value must be positive
= 1
$ alter a.rrd -o xml
! ERROR: --output xml: must be table, json or none
= 1
$ alter a.rrd -n -o json --add-rra RRA:MAX:0:2:3
{"archives":[{"archive":"RRA:LAST:0:1:3","seconds":300,"rows":3,"known":0},{"archive":"RRA:MAX:0:2:3","seconds":600,"rows":3,"known":0}],"path":"a.rrd","sources":["DS:x:GAUGE:600:U:U","DS:z:COMPUTE:x,2,*"],"step":300}
$ alter a.rrd
DS:x:GAUGE:600:U:U
DS:z:COMPUTE:x,2,*
RRA:LAST:0:1:3                        300 s a row        3 rows        0 known
`)
}
