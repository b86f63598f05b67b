package rrdtool_test

import (
	"strings"
	"testing"
)

// TestTuneRefuses: what rrdtool takes, and damages its file with.
func TestTuneRefuses(t *testing.T) {
	check(t, newRondo(), `
		create a.rrd -b 1200000000 DS:x:GAUGE:600:0:10 DS:y:GAUGE:600:U:U DS:z:COMPUTE:x,2,* RRA:LAST:0:1:3 RRA:HWPREDICT:5:0.1:0.1:4
		tune a.rrd -h x:0
		tune a.rrd -h x:-5
		tune a.rrd -i x:10
		tune a.rrd -r x:y
		tune a.rrd -d x:COMPUTE
		tune a.rrd -d z:GAUGE
		tune a.rrd -h z:5
		tune a.rrd -p x
		tune a.rrd -x nan
		tune a.rrd -f 28
		tune a.rrd DEL:x
		tune a.rrd DEL:x DEL:y DEL:z
		tune a.rrd DELRRA:x
		tune a.rrd DELRRA:3
		tune a.rrd RRA#0:=0
		tune a.rrd RRA#0:-3
		tune a.rrd -h y:700 DS:bad
		tune a.rrd -f 28 -w 28
		tune a.rrd -d z:GAUGE -h z:900
		last a.rrd
	`, `
$ create a.rrd -b 1200000000 DS:x:GAUGE:600:0:10 DS:y:GAUGE:600:U:U DS:z:COMPUTE:x,2,* RRA:LAST:0:1:3 RRA:HWPREDICT:5:0.1:0.1:4
$ tune a.rrd -h x:0
! ERROR: ds[0].heartbeat: 0 is not in 1..4503599627370496
= 1
$ tune a.rrd -h x:-5
! ERROR: ds[0].heartbeat: -5 is not in 1..4503599627370496
= 1
$ tune a.rrd -i x:10
! ERROR: ds[0].min: 10 is not below the maximum 10
= 1
$ tune a.rrd -r x:y
! ERROR: there is a data source 'y' already
= 1
$ tune a.rrd -d x:COMPUTE
! ERROR: a data source cannot be made COMPUTE: there is no expression
= 1
$ tune a.rrd -d z:GAUGE
! ERROR: ds[2].heartbeat: 0 is not in 1..4503599627370496
= 1
$ tune a.rrd -h z:5
! ERROR: data source 'z' is COMPUTE and has no heartbeat
= 1
$ tune a.rrd -p x
! ERROR: Unable to parse parameter in set_deltaarg
= 1
$ tune a.rrd -x nan
! ERROR: Holt-Winters parameter must be between 0 and 1
= 1
$ tune a.rrd -f 28
! ERROR: rra[5].threshold: 28 is not in 1..9
= 1
$ tune a.rrd DEL:x
! ERROR: data source 'x' is needed by 'z'
= 1
$ tune a.rrd DEL:x DEL:y DEL:z
! ERROR: a series needs a data source
= 1
$ tune a.rrd DELRRA:x
! ERROR: DELRRA requires a non-negative, integer argument
= 1
$ tune a.rrd DELRRA:3
! ERROR: archive 3 is needed by archive 4
= 1
$ tune a.rrd RRA#0:=0
! ERROR: archive 0 cannot have 0 rows
= 1
$ tune a.rrd RRA#0:-3
! ERROR: archive 0 cannot have 0 rows
= 1
$ tune a.rrd -h y:700 DS:bad
! ERROR: invalid DS format
= 1
$ tune a.rrd -f 28 -w 28
$ tune a.rrd -d z:GAUGE -h z:900
$ last a.rrd
1200000000
`)
}

// TestTuneStep: the open step and the open row keep their sums when the step becomes finer.
func TestTuneStep(t *testing.T) {
	r := newRondo()
	for _, line := range []string{
		"create a.rrd -b 1199999880 -s 60 DS:x:GAUGE:120:U:U RRA:AVERAGE:0.5:1:5 RRA:MAX:0.5:3:4 RRA:AVERAGE:0.5:3:4",
		"update a.rrd 1199999940:1 1200000000:2 1200000060:5 1200000085:8",
		"tune a.rrd -t 20 RRA#0:+1",
		"update a.rrd 1200000120:8 1200000140:8 1200000180:8 1200000240:8",
	} {
		if a := r.run(strings.Fields(line)); a != (answer{}) {
			t.Fatalf("%s: %+v", line, a)
		}
	}
	check(t, r, `
		fetch a.rrd AVERAGE -r 60 -s 1200000000 -e 1200000180
		fetch a.rrd AVERAGE -r 180 -s 1199999880 -e 1200000060
		fetch a.rrd MAX -r 180 -s 1199999880 -e 1200000060
	`, `
$ fetch a.rrd AVERAGE -r 60 -s 1200000000 -e 1200000180
                              x

1200000060: 5.0000000000e+00
1200000120: 8.0000000000e+00
1200000180: 8.0000000000e+00
1200000240: 8.0000000000e+00
$ fetch a.rrd AVERAGE -r 180 -s 1199999880 -e 1200000060
                              x

1200000060: 2.6666666667e+00
1200000240: 8.0000000000e+00
$ fetch a.rrd MAX -r 180 -s 1199999880 -e 1200000060
                              x

1200000060: 5.0000000000e+00
1200000240: 8.0000000000e+00
`)
}
