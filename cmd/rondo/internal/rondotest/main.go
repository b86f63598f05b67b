package rondotest

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd"
)

// Main runs the tests of a package. It makes the test binary rondo itself when it is called by
// that name, or by rrdtool's, and one of the programs more when it is called by the program's name.
func Main(m *testing.M, more map[string]func()) {
	rondo := func() { os.Exit(cmd.Main()) }
	if filepath.Base(os.Args[0]) == "rrdtool" {
		rondo()
	}
	// Most tests that run beside others wait for servers, so more of them than there are cores do.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	programs := map[string]func(){"rondo": rondo}
	maps.Copy(programs, more)
	testscript.Main(m, programs)
}
