package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/internal/pagetest"
)

// TestCommandsInPages looks for the command and the flags of every call of rondo-bench that a page
// shows.
func TestCommandsInPages(t *testing.T) {
	all, err := pagetest.Read("..")
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, p := range all {
		for _, c := range p.Commands("rondo-bench") {
			calls++
			if err := pagetest.Known(newRoot(), c.Args, func(*cobra.Command, string) bool { return false }); err != nil {
				t.Errorf("%s:%d: rondo-bench %s: %v", p.Name, c.Line, strings.Join(c.Args, " "), err)
			}
		}
	}
	if calls < 5 {
		t.Errorf("only %d calls found: the pattern is wrong", calls)
	}
}
