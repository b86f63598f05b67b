package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/lines"
)

// TestAddedReceiver: one more line in the list of protocols is all that the server needs of a new
// receiver, as docs/adding-a-receiver.md promises: its flags, their help, the configuration file.
func TestAddedReceiver(t *testing.T) {
	defer func(list []receivers.Protocol) { protocols = list }(protocols)
	protocols = append(slices.Clip(protocols), lines.Protocol)
	s := settings(t, "--lines", "127.0.0.1:0", "--config", configFile(t, "lines-step: 30\n"))
	ways, _, err := s.apply()
	if err != nil {
		t.Fatal(err)
	}
	r := receiver(t, ways, "lines")
	if r.Address.Addr != "127.0.0.1:0" || !slices.Equal(r.Options["lines-step"], []string{"30"}) {
		t.Errorf("%+v", r)
	}
	_, cmd := newServeSettings(s.common)
	var help bytes.Buffer
	cmd.SetOut(&help)
	cmd.SetErr(&help)
	if err := cmd.Usage(); err != nil {
		t.Fatal(err)
	}
	want := "\nLines of text:\n  --lines ADDRESS"
	if !strings.Contains(help.String(), want) || strings.Contains(help.String(), "\nOther:") {
		t.Errorf("the help lacks %q, or has a part of others:\n%s", want, help.String())
	}
}
