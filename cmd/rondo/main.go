// Rondo keeps time series in round-robin archives. See `rondo help`.
//
// If the program's file is named rrdtool, rondo takes rrdtool's command line: the first argument is
// a verb, and rondo's own commands are not known.
package main

import (
	"os"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd"
)

func main() { os.Exit(cmd.Main()) }
