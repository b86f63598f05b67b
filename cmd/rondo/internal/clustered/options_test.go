package clustered

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestOptionsAreChecked(t *testing.T) {
	good := Options{
		Servers: Servers{URL: "nats://a:4222,tls://b:4222", Name: "x-1", LogBytes: 1 << 30},
		Node:    "n.1", Listen: ":9181", Advertise: "n1:9181", Partitions: 16, Replicas: 2,
	}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(o *Options){
		"--cluster http://a:1":         func(o *Options) { o.URL = "http://a:1" },
		"--cluster : want":             func(o *Options) { o.URL = "nats://a:4222," },
		`--cluster-name "a.b"`:         func(o *Options) { o.Servers.Name = "a.b" },
		"--cluster-log":                func(o *Options) { o.LogBytes = 1 },
		`--node "a b"`:                 func(o *Options) { o.Node = "a b" },
		"--cluster-partitions 0":       func(o *Options) { o.Partitions = 0 },
		"--cluster-partitions 4097":    func(o *Options) { o.Partitions = 4097 },
		"--cluster-replicas 9":         func(o *Options) { o.Replicas = 9 },
		"--cluster-listen 9181":        func(o *Options) { o.Listen = "9181" },
		"--advertise :9181: want HOST": func(o *Options) { o.Advertise = ":9181" },
		"--advertise a:0: want HOST":   func(o *Options) { o.Advertise = "a:0" },
		"--advertise a:x: want HOST":   func(o *Options) { o.Advertise = "a:x" },
		"--advertise 0.0.0.0:1: other": func(o *Options) { o.Advertise = "0.0.0.0:1" },
		"--advertise [::]:1: other":    func(o *Options) { o.Advertise = "[::]:1" },
		"--cluster-monitor n1:8222":    func(o *Options) { o.Monitor = []string{"n1:8222"} },
		"--cluster-credentials: open":  func(o *Options) { o.Credentials = "missing" },
		"--cluster-tls: open missing":  func(o *Options) { o.TLS = []string{"missing"} },
		"--cluster-tls: open gone":     func(o *Options) { o.TLS = []string{"gone", "gone", "options_test.go"} },
		"--cluster-tls options_test":   func(o *Options) { o.TLS = []string{"options_test.go"} },
	} {
		o := good
		change(&o)
		if err := o.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A file of credentials has a JWT and a seed. The client of NATS took any other file, could not
// connect with it, and tried again for a minute.
func TestCredentialsAreChecked(t *testing.T) {
	const (
		token = "-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.c2ln\n------END NATS USER JWT------\n"
		seed  = "SUADLY43CJHDVDWWBYLHMV7O763TC5DJSJALFRRGS7JLMGJYVW6BOZX2WY" // of nobody
		key   = "-----BEGIN USER NKEY SEED-----\n" + seed + "\n------END USER NKEY SEED------\n"
	)
	for _, x := range []struct{ name, text, want string }{
		{"both", token + "\n" + key, ""},
		{"with the lines of Windows", strings.ReplaceAll(token+"\n"+key, "\n", "\r\n"), ""},
		{"empty", "", "there is no JWT in it"},
		{"garbage", "a.b.c\n", "there is no JWT in it"},
		{"a seed", seed + "\n", "there is no JWT in it"},
		{"a seed between lines", key, "there is no JWT in it"},
		{"a JWT alone", token, "there is no seed in it"},
		{"a damaged seed", token + "\n" + strings.ReplaceAll(key, "43CJ", "43CK"), "there is no seed in it"},
	} {
		file := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := (&Servers{Credentials: file}).checkFiles()
		if x.want == "" {
			if err != nil {
				t.Errorf("%s: %v", x.name, err)
			}
			continue
		}
		if want := "--cluster-credentials: read " + file + ": " + x.want + ": want a file of credentials (.creds)"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", x.name, err, want)
		}
	}
	if err := (&Servers{Credentials: t.TempDir()}).checkFiles(); err == nil || !strings.Contains(err.Error(), "it is a folder: want a file of credentials") {
		t.Errorf("a folder: %v", err)
	}
}

// The monitoring ports are the servers', unless they are named.
func TestMonitors(t *testing.T) {
	s := Servers{URL: "nats://a:4222,nats://[::1]:4223"}
	if got, want := s.monitors(), []string{"http://a:8222", "http://[::1]:8222"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Monitor = []string{"http://c:1"}
	if got := s.monitors(); !slices.Equal(got, s.Monitor) {
		t.Errorf("%q, want %q", got, s.Monitor)
	}
}
