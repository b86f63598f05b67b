package clustered

import (
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

// The monitoring ports are those of the servers, unless they are named.
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
