package cmd

import (
	"bytes"
	"io"
	"slices"
	"strings"
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

// TestGlobalFlagsAreListedOnce: each help ended in eight lines of flags that all commands have.
func TestGlobalFlagsAreListedOnce(t *testing.T) {
	var out bytes.Buffer
	p := &cli.Process{Stdout: &out, Stderr: &out, LookupEnv: func(string) (string, bool) { return "", false }}
	root := NewRoot(p)
	for range 2 { // a help changes no later one
		for _, cmd := range root.Commands() {
			for _, c := range append(cmd.Commands(), cmd) {
				out.Reset()
				if err := c.Help(); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(out.String(), "--daemon-ca") || c.Name() != "serve" && c.Name() != "rrdtool" && !strings.Contains(out.String(), "rondo --help") {
					t.Errorf("%s --help prints\n%s", c.CommandPath(), out.String())
				}
			}
		}
		out.Reset()
		if err := root.Help(); err != nil || !strings.Contains(out.String(), "--daemon-ca") {
			t.Errorf("rondo --help lacks the flags of every command: %v\n%s", err, out.String())
		}
	}
}
