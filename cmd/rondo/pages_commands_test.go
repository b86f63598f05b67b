package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd"
	"github.com/rondo-db/rondo/internal/pagetest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// notCalls are the beginnings of lines that look like a call of rondo and are something else.
var notCalls = []string{
	"serve --lines 127.0.0.1:2003", // of the receiver that a page shows how to add
	"ended before it had answered", // a message
	"v0.0.0-",                      // what version prints
}

// TestCommandsInPages looks for the command and the flags of every call of rondo that a page shows.
func TestCommandsInPages(t *testing.T) {
	isFlag := func(cmd *cobra.Command, name string) bool {
		return cmd.Name() == "rrdtool" || slices.Contains(rrdtool.OptionsOf(cmd.Name()), name) ||
			slices.Contains(rrdtool.OwnVerbs(), cmd.Name()) && strings.Contains(cmd.Long, "--"+name)
	}
	calls := 0
	for _, p := range readPages(t) {
		for _, c := range p.Commands("rondo") {
			line := strings.Join(c.Args, " ")
			if slices.ContainsFunc(notCalls, func(begin string) bool { return strings.HasPrefix(line, begin) }) {
				continue
			}
			calls++
			root := cmd.NewRoot(&cli.Process{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }})
			if err := pagetest.Known(root, c.Args, isFlag); err != nil {
				t.Errorf("%s:%d: rondo %s: %v", p.Name, c.Line, line, err)
			}
		}
	}
	if calls < 150 {
		t.Errorf("only %d calls found: the pattern is wrong", calls)
	}
}
