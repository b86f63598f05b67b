package rrdtool_test

import "testing"

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
