package cmd

import (
	"io"
	"slices"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// TestCommandsHaveTheirNames: a command is made only when its entry has the name that was asked for,
// and cluster was listed twice.
func TestCommandsHaveTheirNames(t *testing.T) {
	p := &cli.Process{Stdout: io.Discard, Stderr: io.Discard, LookupEnv: func(string) (string, bool) { return "", false }}
	seen := make(map[string]bool)
	for _, e := range commands() {
		cmd := e.make(&cli.Factory{Process: p})
		if got := append([]string{cmd.Name()}, cmd.Aliases...); !slices.Equal(got, e.names) {
			t.Errorf("the entry %q makes the command %q", e.names, got)
		}
		for _, name := range e.names {
			if seen[name] {
				t.Errorf("there are two commands %s", name)
			}
			seen[name] = true
		}
	}
	for _, tt := range []struct {
		args string
		want int
	}{{"last", 1}, {"rm", 1}, {"--help", len(commands())}, {"nosuch", len(commands())}} {
		if got := named([]string{"--db", "show", tt.args, "x"}); len(got) != tt.want {
			t.Errorf("for %s %d commands are made, want %d", tt.args, len(got), tt.want)
		}
	}
}
