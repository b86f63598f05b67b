package main

import (
	"os"
	"testing"
)

// TestDevNullIsNoTerminal: `rondo backup - > /dev/null` was refused, because the device looked like
// a terminal.
func TestDevNullIsNoTerminal(t *testing.T) {
	f, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	if isTerminal(f) {
		t.Errorf("%s is taken for a terminal", os.DevNull)
	}
}
