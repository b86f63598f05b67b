package server

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// TestSeveralAddressesOfHTTP: --http took one address. Each of several has the same routes.
func TestSeveralAddressesOfHTTP(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	r := start(t, Config{HTTP: []Address{anyPort, {Addr: taken.Addr().String()}, {Addr: "localhost:0", Named: true}}, Ways: fakeWays(nil)})
	if len(r.AllHTTP) != 2 || r.HTTP.String() != r.AllHTTP[0].String() {
		t.Fatalf("addresses %v, the first is %v", r.AllHTTP, r.HTTP)
	}
	for _, a := range r.AllHTTP {
		for _, path := range []string{"/-/ready", "/metrics", "/", "/api/v1/query?query=1", "/rondo.v1.Rondo/List?encoding=json&message=%7B%7D"} {
			if code, text, _ := ask(t, http.DefaultClient, http.MethodGet, "http://"+a.String()+path, ""); code != http.StatusOK {
				t.Errorf("%s at %s answers %d %s", path, a, code, text)
			}
		}
		_, text, _ := ask(t, http.DefaultClient, http.MethodPost, "http://"+a.String()+"/rondo.v1.Rondo/Status", "{}", "Content-Type", "application/json")
		for _, b := range r.AllHTTP {
			if !strings.Contains(text, `"`+b.String()+`"`) {
				t.Errorf("the status that %s tells does not list %s: %s", a, b, text)
			}
		}
	}
	// No address is opened where one that the user has named cannot be.
	err = Run(t.Context(), Config{DB: filepath.Join(t.TempDir(), "db"), HTTP: []Address{anyPort, {Addr: taken.Addr().String(), Named: true}}})
	if err == nil || !strings.Contains(err.Error(), "--http "+taken.Addr().String()) {
		t.Errorf("an address that another program has: %v", err)
	}
}

// TestRolesByAddressOfHTTP: all that came by HTTP had the same role. Each address has its own.
func TestRolesByAddressOfHTTP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("rondo:\n  listeners:\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("    http: {role: admin}\n    'localhost:0': {role: write, prefixes: [mine]}\n    '127.0.0.2:0': {role: read}\n")
	r := start(t, Config{
		HTTP: []Address{anyPort, {Addr: "localhost:0", Named: true}, {Addr: "127.0.0.2:0", Named: true}}, WebConfig: file, Ways: fakeWays(nil),
	})
	create := `{"path":"PATH","definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:10"]}}`
	for i, tt := range []struct {
		at           int
		method, body string
		want         int
	}{
		{1, "Create", strings.ReplaceAll(create, "PATH", "others/x"), http.StatusForbidden},
		{1, "Create", strings.ReplaceAll(create, "PATH", "mine/x"), http.StatusOK},
		{1, "Drop", `{"path":"mine/x"}`, http.StatusForbidden},
		{1, "Stats", `{}`, http.StatusForbidden},
		{2, "Create", strings.ReplaceAll(create, "PATH", "mine/y"), http.StatusForbidden},
		{2, "Info", `{"path":"mine/x"}`, http.StatusOK},
		{2, "Stats", `{}`, http.StatusOK},
		{0, "Create", strings.ReplaceAll(create, "PATH", "others/x"), http.StatusOK},
		{1, "Info", `{"path":"others/x"}`, http.StatusForbidden},
		{0, "Drop", `{"path":"mine/x"}`, http.StatusOK},
	} {
		url := "http://" + r.AllHTTP[tt.at].String() + "/rondo.v1.Rondo/" + tt.method
		if code, text, _ := ask(t, http.DefaultClient, http.MethodPost, url, tt.body, "Content-Type", "application/json"); code != tt.want {
			t.Errorf("%d: %s %s at %s answers %d %s, want %d", i, tt.method, tt.body, r.HTTP, code, text, tt.want)
		}
	}
	for text, want := range map[string]string{
		"    '127.0.0.1:1': {role: read}\n": "127.0.0.1:1 is no address of --http or --rrdcached",
		"    '127.0.0.1:0': {auth: required}\n  tokens: [{name: a, role: read, sha256: '" + strings.Repeat("0", 64) + "'}]\n": "has neither tls nor auth",
	} {
		write(text)
		err := Run(t.Context(), Config{DB: filepath.Join(t.TempDir(), "db"), HTTP: anyPorts, WebConfig: file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestCommandsByAddressOfHTTP: a command, alone or in a session, may do no more than the address
// allows that it comes by.
func TestCommandsByAddressOfHTTP(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yml")
	if err := os.WriteFile(file, []byte("rondo:\n  listeners:\n    'localhost:0': {role: write, prefixes: [mine]}\n    '127.0.0.2:0': {role: read}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := start(t, Config{
		HTTP: []Address{anyPort, {Addr: "localhost:0", Named: true}, {Addr: "127.0.0.2:0", Named: true}}, WebConfig: file, Ways: fakeWays(nil),
	})
	for i, tt := range []struct {
		at            int
		command, want string
	}{
		{0, "create others/x" + madeOf, ""},
		{0, "create mine/x" + madeOf, ""},
		{1, "update mine/x 1000000010:1", ""},
		{1, "update others/x 1000000010:1", "permission denied"},
		{1, "create others/y" + madeOf, "permission denied"},
		{1, "tune mine/x -h v:5", "permission denied"},
		{2, "last mine/x", "1000000010"},
		{2, "update mine/x 1000000020:1", "permission denied"},
		{2, "create mine/y" + madeOf, "permission denied"},
	} {
		c, err := rpc.Dial(t.Context(), r.AllHTTP[tt.at].String())
		if err != nil {
			t.Fatal(err)
		}
		got := alone(t, c, &rondov1.ExecRequest{Argv: strings.Fields(tt.command)})
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%d: %s answers %q, want %q", i, tt.command, got, tt.want)
		}
		if tt.want == "permission denied" {
			if got := inSession(t, c, tt.command+"\n"); !strings.Contains(got, tt.want) {
				t.Errorf("%d: %s in a session answers %q", i, tt.command, got)
			}
		}
		c.Close()
	}
}
