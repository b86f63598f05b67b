package middleware

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHosts(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9180}
	wildcard := &net.TCPAddr{IP: net.IPv6unspecified, Port: 9180}
	machine := func() []string { return []string{"store1", "store1.local", "Store1.Lan"} }
	type headers map[string]string
	for _, tt := range []struct {
		name    string
		addr    net.Addr
		added   []string
		method  string
		host    string
		headers headers
		want    string // part of the refusal; empty: let in
	}{
		{name: "address", addr: loopback, host: "127.0.0.1:9180"},
		{name: "address without port", addr: loopback, host: "127.0.0.1"},
		{name: "IPv6", addr: loopback, host: "[::1]:9180"},
		{name: "IPv6 without port", addr: loopback, host: "[::1]"},
		{name: "localhost", addr: loopback, host: "LocalHost:9180"},
		{name: "localhost with a dot", addr: loopback, host: "localhost."},
		{name: "below localhost", addr: loopback, host: "rondo.localhost:9180"},
		{name: "no host", addr: loopback, host: ""},
		{name: "rebound", addr: loopback, host: "evil.example", headers: headers{"Origin": "http://evil.example"}, want: "--http-host evil.example"},
		{name: "rebound, port", addr: loopback, host: "evil.example:9180", headers: headers{"Origin": "http://evil.example:9180"}, want: "--http-host evil.example"},
		{name: "rebound, read", addr: loopback, method: "GET", host: "evil.example", want: "--http-host evil.example"},
		{name: "almost localhost", addr: loopback, host: "localhost.evil.example", want: "--http-host"},
		{name: "almost an address", addr: loopback, host: "127.0.0.1.evil.example", want: "--http-host"},
		{name: "not printable", addr: loopback, host: "e\x1bil;rm", want: "--http-host NAME"},
		{name: "machine, on loopback", addr: loopback, host: "store1", want: "--http-host store1"},
		{name: "machine", addr: wildcard, host: "store1:9180"},
		{name: "machine in its domain", addr: wildcard, host: "STORE1.lan:9180"},
		{name: "machine in another domain", addr: wildcard, host: "store1.evil.example", want: "--http-host store1.evil.example"},
		{name: "wildcard", addr: wildcard, host: "evil.example", want: "--http-host"},
		{name: "its address", addr: wildcard, host: "192.0.2.7:9180"},
		{name: "added", addr: loopback, added: []string{"Metrics.Example.com"}, host: "metrics.example.com:9180"},
		{name: "any", addr: loopback, added: []string{"*"}, host: "whatever"},
		{name: "own page", addr: loopback, host: "localhost:9180", headers: headers{"Origin": "http://localhost:9180"}},
		{name: "own page behind TLS", addr: loopback, added: []string{"rondo.example.com"}, host: "rondo.example.com", headers: headers{"Origin": "https://rondo.example.com"}},
		{name: "page of an added site", addr: loopback, added: []string{"rondo.example.com"}, host: "127.0.0.1:9180", headers: headers{"Origin": "https://rondo.example.com", "Sec-Fetch-Site": "cross-site"}},
		{name: "foreign page", addr: loopback, host: "127.0.0.1:9180", headers: headers{"Origin": "http://evil.example"}, want: "--http-host evil.example"},
		{name: "foreign page, any host", addr: loopback, added: []string{"*"}, host: "127.0.0.1:9180", headers: headers{"Origin": "http://evil.example"}, want: "--http-host evil.example"},
		{name: "another port of this machine", addr: loopback, host: "localhost:9180", headers: headers{"Origin": "http://localhost:3000"}, want: "another site"},
		{name: "hidden page", addr: loopback, host: "127.0.0.1:9180", headers: headers{"Origin": "null"}, want: "--http-host NAME"},
		{name: "image on a foreign page", addr: loopback, method: "GET", host: "127.0.0.1:9180", headers: headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, want: "another site"},
		{name: "frame on a foreign page", addr: loopback, method: "GET", host: "127.0.0.1:9180", headers: headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, want: "another site"},
		{name: "link on a foreign page", addr: loopback, method: "GET", host: "127.0.0.1:9180", headers: headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}},
		{name: "form on a foreign page", addr: loopback, host: "127.0.0.1:9180", headers: headers{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, want: "another site"},
		{name: "unix socket", addr: &net.UnixAddr{Name: "/x"}, host: "evil.example", headers: headers{"Origin": "http://evil.example"}, want: "Host"},
		{name: "unix socket exempt", addr: &net.UnixAddr{Name: "/x", Net: "unix"}, host: "evil.example", headers: headers{"Origin": "http://evil.example"}},
	} {
		if tt.method == "" {
			tt.method = http.MethodPost
		}
		r := httptest.NewRequest(tt.method, "/rondo.v1.Rondo/Drop", nil)
		r.Host = tt.host
		for k, v := range tt.headers {
			r.Header.Set(k, v)
		}
		got := NewHosts(tt.addr, tt.added, machine).refuse(r)
		if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) || strings.ContainsAny(got, "\x1b\n") {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestSearchDomains(t *testing.T) {
	name := filepath.Join(t.TempDir(), "resolv.conf")
	if err := os.WriteFile(name, []byte("# of the house\nnameserver 192.0.2.1\nsearch lan example.com.\ndomain corp\nsearch\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := searchDomains(name), []string{"lan", "example.com", "corp"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := searchDomains(name + ".not"); got != nil {
		t.Errorf("no file: %q", got)
	}
}

func TestCheckHTTPHost(t *testing.T) {
	for name, want := range map[string]bool{
		"rondo.example.com": true, "*": true, "Rondo": true, "10.0.0.1": true, "::1": true,
		"": false, "http://rondo": false, "a b": false, "*.example.com": false,
	} {
		if err := CheckHTTPHost(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}
