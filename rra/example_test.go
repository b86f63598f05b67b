package rra_test

import (
	"fmt"

	"github.com/rondo-db/rondo/rra"
)

// A series is a definition and a state; Update hands out the rows that a reading finished.
func ExampleSeries_Update() {
	d, err := rra.ParseDefinition(10, []string{"DS:octets:COUNTER:20:U:U", "RRA:AVERAGE:0.5:1:360", "RRA:MAX:0.5:2:100"})
	if err != nil {
		panic(err)
	}
	m, err := rra.Compile(d)
	if err != nil {
		panic(err)
	}
	s := rra.NewSeries(m, "eth0.rrd", rra.Seconds(1000000000))
	for i := range int64(4) {
		rows, err := s.Update(rra.Seconds(1000000010+10*i), []rra.Value{rra.Int(1000 * i * i)})
		if err != nil {
			panic(err)
		}
		for _, row := range rows {
			fmt.Println(d.Archives[row.Archive].CF, row.End.Unix(), row.Values[0])
		}
	}
	// Output:
	// AVERAGE 1000000010 NaN
	// AVERAGE 1000000020 100
	// MAX 1000000020 100
	// AVERAGE 1000000030 300
	// AVERAGE 1000000040 500
	// MAX 1000000040 500
}
