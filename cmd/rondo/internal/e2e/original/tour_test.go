package original

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// tour is a program that uses every option of every verb, whatever the random ones happen to use.
func tour() (program [][]string, files []*file) {
	for line := range strings.Lines(tourLines) {
		if words := strings.Fields(line); len(words) > 0 {
			program = append(program, words)
		}
	}
	return program, nil
}

const tourLines = `
create a.rrd --start 1000000020 --step 60 DS:x:GAUGE:120:U:U DS:y:GAUGE:120:U:U RRA:AVERAGE:0.5:1:20 RRA:MAX:0.5:5:10 RRA:HWPREDICT:20:0.1:0.1:5
update a.rrd --template y:x 1000000080:5:1 1000000140:6:2 1000000200:7:3
update --skip-past-updates a.rrd 1000000100:9:9 1000000260:8:4
updatev a.rrd -t x:y -s 1000000100:9:9 1000000320:5:9
create b.rrd --template a.rrd
last b.rrd
create c.rrd --source a.rrd --step 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0.5:1:10 RRA:MIN:0.5:2:10
dump c.rrd
create d.rrd -r a.rrd -r c.rrd -b 1000000330 -s 60 DS:x:GAUGE:120:U:U RRA:LAST:0.5:1:10
dump d.rrd
create a.rrd --no-overwrite DS:x:GAUGE:120:U:U RRA:LAST:0.5:1:10
first a.rrd --rraindex 1
lastupdate a.rrd
info --noflush a.rrd
list --recursive --noflush .
fetch a.rrd AVERAGE --start 1000000000 --end 1000000400 --resolution 60 --align-start
dump --header none c.rrd
dump --no-header c.rrd
dump c.rrd @/c.xml
restore --range-check --force-overwrite @/c.xml c.rrd
xport --start 1000000000 --end 1000000400 --maxrows 50 --step 60 --enumds --json --showtime DEF:x=a.rrd:x:AVERAGE XPORT:x:text
tune a.rrd --heartbeat x:200 --minimum x:-5 --maximum x:1000 --data-source-type x:DERIVE --data-source-rename y:z
tune a.rrd --deltapos 3 --deltaneg 3 --window-length 10 --failure-threshold 6 --alpha 0.2 --beta 0.2 --gamma 0.2 --gamma-deviation 0.2
tune a.rrd --smoothing-window 0.1 --smoothing-window-deviation 0.1
tune a.rrd --aberrant-reset x
info a.rrd
tune d.rrd --step 30 RRA#0:-2
info d.rrd
resize c.rrd 0 GROW 5
dump resize.rrd
`

// beyond are options that the comparison cannot use, with the reason.
var beyond = map[string]string{
	"update locking":  "rrdtool 1.7.2 does not know it",
	"updatev locking": "rrdtool 1.7.2 does not know it",
}

// A coverage counts the options that programs use.
type coverage struct {
	mu   sync.Mutex
	uses map[string]int // by verb and long name
}

func (c *coverage) count(program [][]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, args := range program {
		if len(args) == 0 {
			continue
		}
		for _, name := range rrdtool.OptionsIn(args) {
			c.uses[args[0]+" "+name]++
		}
		c.uses[args[0]]++
	}
}

// report prints how often each verb and each option was used, and fails if one was not.
func (c *coverage) report(t *testing.T) {
	t.Helper()
	var table strings.Builder
	for _, verb := range rrdtool.Verbs() {
		if strings.HasPrefix(verb, "graph") {
			continue // TestGraphAsOriginal compares graph and graphv, and counts their options
		}
		fmt.Fprintf(&table, "\n%-12s %6d ", verb, c.uses[verb])
		if c.uses[verb] == 0 && verb != "flushcached" {
			t.Errorf("no program uses %s", verb)
		}
		for _, name := range slices.Sorted(slices.Values(rrdtool.OptionsOf(verb))) {
			key := verb + " " + name
			fmt.Fprintf(&table, " --%s %d", name, c.uses[key])
			if c.uses[key] == 0 && name != "daemon" && beyond[key] == "" {
				t.Errorf("no program uses %s --%s", verb, name)
			}
		}
	}
	t.Log("how often each verb and option was used (--daemon has tests of its own):", table.String())
}
