package rrdtool_test

import "testing"

// TestMissingSource checks that a series that --source names and that is not there is reported
// before what is wrong behind that option, as rrdtool does.
func TestMissingSource(t *testing.T) {
	check(t, newRondo(), `
		create a --source nothing --step 0
		create a -r nothing --nonsense
		create a --step 0 -r nothing
		create -r nothing
	`, `
$ create a --source nothing --step 0
! ERROR: error checking for source RRD nothing: No such file or directory
= 1
$ create a -r nothing --nonsense
! ERROR: error checking for source RRD nothing: No such file or directory
= 1
$ create a --step 0 -r nothing
! ERROR: step size: value must be positive
= 1
$ create -r nothing
! ERROR: error checking for source RRD nothing: No such file or directory
= 1
`)
}

// TestMappingToNoSource checks that sources are counted from 1 on: nothing fills a data source that
// is mapped to number 0.
func TestMappingToNoSource(t *testing.T) {
	check(t, newRondo(), `
		create a --start 1200000000 --step 10 DS:x:GAUGE:60:U:U RRA:LAST:0.5:1:2
		update a 1200000010:1 1200000020:2
		create b --step 10 --source a DS:y=x[0]:GAUGE:60:U:U DS:z=x[1]:GAUGE:60:U:U RRA:LAST:0.5:1:2
		fetch b LAST --start 1200000000 --end 1200000010
	`, `
$ create a --start 1200000000 --step 10 DS:x:GAUGE:60:U:U RRA:LAST:0.5:1:2
$ update a 1200000010:1 1200000020:2
$ create b --step 10 --source a DS:y=x[0]:GAUGE:60:U:U DS:z=x[1]:GAUGE:60:U:U RRA:LAST:0.5:1:2
$ fetch b LAST --start 1200000000 --end 1200000010
                              y                   z

1200000010: -nan 1.0000000000e+00
1200000020: -nan 2.0000000000e+00
`)
}

// TestNoNameIsNoWord checks that an expression cannot ask for a DEF that has no name.
func TestNoNameIsNoWord(t *testing.T) {
	check(t, newRondo(), `
		create a --start 1200000000 --step 10 DS:x:GAUGE:60:U:U RRA:LAST:0.5:1:2
		xport DEF:=a:x:LAST CDEF:c=1,,+ XPORT:c
	`, `
$ create a --start 1200000000 --step 10 DS:x:GAUGE:60:U:U RRA:LAST:0.5:1:2
$ xport DEF:=a:x:LAST CDEF:c=1,,+ XPORT:c
! ERROR: don't understand ',+'
= 1
`)
}
