package main

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary rondo itself when it is called by that name, or by rrdtool's.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "rrdtool" {
		main()
	}
	// Most tests that run beside others wait for servers, so more of them than there are cores do.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"rondo": main, "curl": curl})
}
