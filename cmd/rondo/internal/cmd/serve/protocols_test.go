package serve

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/receivers"
)

// TestAddedReceiver: one more line in the list of protocols is all that the server needs of a new
// receiver, as docs/adding-a-receiver.md promises: its flags, their help, the configuration file.
func TestAddedReceiver(t *testing.T) {
	defer func(list []receivers.Protocol) { Protocols = list }(Protocols)
	Protocols = append(slices.Clip(Protocols), receivers.Protocol{
		Name: "lines", Title: "Lines of text", Network: "udp", Usage: "UDP `address` of lines",
		Flags: []receivers.Flag{receivers.StepFlag("lines", "10s")},
	})
	s := settings(t, "--lines", "127.0.0.1:0", "--config", configFile(t, "lines-step: 30\n"))
	ways, _, err := s.Apply()
	if err != nil {
		t.Fatal(err)
	}
	r := receiver(t, ways, "lines")
	if r.Address.Addr != "127.0.0.1:0" || !slices.Equal(r.Options["lines-step"], []string{"30"}) {
		t.Errorf("%+v", r)
	}
	help := usage(t, s)
	want := "\nLines of text:\n      --lines address"
	if !strings.Contains(help, want) || strings.Contains(help, "\nOther:") {
		t.Errorf("the help lacks %q, or has a part of others:\n%s", want, help)
	}
}

// TestReceiverOverHTTP: the flag of a protocol over the HTTP port is on or off, and nothing else.
func TestReceiverOverHTTP(t *testing.T) {
	defer func(list []receivers.Protocol) { Protocols = list }(Protocols)
	Protocols = append(
		slices.Clip(Protocols),
		receivers.Protocol{Name: "posted", Network: receivers.HTTP, Address: receivers.On},
		receivers.Protocol{Name: "seldom", Network: receivers.HTTP},
	)
	for args, want := range map[string][2]string{
		"":                              {"on", ""},
		"--posted=off --seldom=on":      {"", "on"},
		"--posted=false --seldom=true":  {"", "on"},
		"--posted= --seldom=off":        {"", ""},
		"--posted=127.0.0.1:1234":       {"error"},
		"--posted=on --seldom=whatever": {"error"},
	} {
		s := settings(t, strings.Fields(args)...)
		ways, _, err := s.Apply()
		if want[0] == "error" {
			if err == nil || !strings.Contains(err.Error(), "want on or off") {
				t.Errorf("%s: %v", args, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{receiver(t, ways, "posted").Address.Addr, receiver(t, ways, "seldom").Address.Addr}; got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	help := usage(t, settings(t))
	for _, want := range []string{"--posted on|off", `(default "on")`, "--seldom on|off", `(default "off")`} {
		if !strings.Contains(help, want) {
			t.Errorf("the help lacks %q:\n%s", want, help)
		}
	}
}

// TestSharedFlags: a protocol gets the flags of another that it shares, and the help lists each
// flag once, below a title that has flags.
func TestSharedFlags(t *testing.T) {
	s := settings(t, "--graphite-pickle", "127.0.0.1:0", "--graphite-step", "30")
	ways, _, err := s.Apply()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"graphite", "graphite-pickle"} {
		if got := receiver(t, ways, name).Options["graphite-step"]; !slices.Equal(got, []string{"30"}) {
			t.Errorf("%s has the step %q", name, got)
		}
	}
	help := usage(t, s)
	if n := strings.Count(help, "--graphite-step"); n != 1 || strings.Contains(help, ":\n\n") {
		t.Errorf("--graphite-step is listed %d times, or a title has no flags:\n%s", n, help)
	}
}

// usage returns the help of serve.
func usage(t *testing.T, s *Settings) string {
	t.Helper()
	_, cmd := NewSettings(s.Factory)
	var help bytes.Buffer
	cmd.SetOut(&help)
	cmd.SetErr(&help)
	if err := cmd.Usage(); err != nil {
		t.Fatal(err)
	}
	return help.String()
}
