package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary rondo itself when it is called by that name, or by rrdtool's.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "rrdtool" {
		main()
	}
	testscript.Main(m, map[string]func(){"rondo": main, "curl": curl})
}
