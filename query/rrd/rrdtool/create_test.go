package rrdtool_test

import "testing"

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
