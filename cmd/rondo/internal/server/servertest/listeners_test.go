package servertest

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// exchange sends lines and returns the first of the answers.
func exchange(t *testing.T, c net.Conn, lines string, answers int) string {
	t.Helper()
	defer func() { _ = c.Close() }() // everything was read
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, lines); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for r := bufio.NewReader(c); answers > 0; answers-- {
		line, err := r.ReadString('\n')
		got.WriteString(line)
		if err != nil {
			break
		}
	}
	return got.String()
}

// TestRRDCachedByWebConfig: rrdcached's port over TCP speaks TLS and wants a token, as the file
// says, and the socket in the database's folder stays as it is.
func TestRRDCachedByWebConfig(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	dir := t.TempDir()
	socket := filepath.Join(dir, "s")
	c := server.Config{
		WebConfig: a.Write(t, "web.yml", guarded(t)+"  listeners: {rrdcached: {tls: true, auth: required, role: write}}\n"),
		RRDCached: server.RRDCached{Named: true, Addresses: []rrdcached.Address{{Network: "tcp", Addr: "127.0.0.1:0"}, {Network: "unix", Addr: socket}}},
	}
	r := start(t, c)
	if len(r.RRDCached) != 2 {
		t.Fatalf("addresses %v", r.RRDCached)
	}
	dial := func() net.Conn {
		t.Helper()
		c, err := tls.Dial("tcp", r.RRDCached[0].String(), &tls.Config{RootCAs: a.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for lines, want := range map[string]string{
		"PING\nPING\n":                "-1 Authentication required: the first line must be AUTH and a token.\n",
		"AUTH past\nPING\n":           "-1 The token is wrong, or has expired.\n",
		"AUTH admin\nTUNE x -h v:5\n": "0 Authenticated\n-1 Permission denied.\n", // the listener allows no more than write
		"AUTH admin\nPING\n":          "0 Authenticated\n0 PONG\n",
	} {
		if got := exchange(t, dial(), lines, 2); got != want {
			t.Errorf("%q is answered %q, want %q", lines, got, want)
		}
	}
	local, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, local, "PING\n", 1); got != "0 PONG\n" {
		t.Errorf("at the socket: %q", got)
	}
	err = server.Run(t.Context(), server.Config{DB: t.TempDir(), WebConfig: a.Write(t, "other.yml", "rondo: {listeners: {\"127.0.0.1:1\": {role: read}}}\n")})
	if err == nil || !strings.Contains(err.Error(), "is no address of --http or --rrdcached") {
		t.Errorf("a rule for an address that is not listened on: %v", err)
	}
}

// TestRRDCachedTLS: --rrdcached-tls encrypts TCP without a web configuration, and follows a new
// certificate.
func TestRRDCachedTLS(t *testing.T) {
	t.Parallel()
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{CN: "first"})
	files := [2]string{a.Dir + "/server.crt", a.Dir + "/server.key"}
	r := start(t, server.Config{RRDCached: server.RRDCached{Named: true, TLS: files, Addresses: []rrdcached.Address{{Network: "tcp", Addr: "127.0.0.1:0"}}}})
	for _, name := range []string{"first", "second"} {
		a.Leaf(t, "server", webconfigtest.Leaf{CN: name})
		eventually(t, "the certificate is sent", func() bool {
			c, err := tls.Dial("tcp", r.RRDCached[0].String(), &tls.Config{RootCAs: a.Pool()})
			if err != nil {
				t.Fatal(err)
			}
			cn := c.ConnectionState().PeerCertificates[0].Subject.CommonName
			if got := exchange(t, c, "PING\n", 1); got != "0 PONG\n" {
				t.Fatalf("over TLS: %q", got)
			}
			return cn == name
		})
	}
	plain, err := net.Dial("tcp", r.RRDCached[0].String())
	if err != nil {
		t.Fatal(err)
	}
	if got := exchange(t, plain, "PING\nPING\n", 1); strings.Contains(got, "PONG") {
		t.Errorf("without TLS: %q", got)
	}
	if err := server.Run(t.Context(), server.Config{DB: t.TempDir(), RRDCached: server.RRDCached{TLS: [2]string{"missing", "missing"}}}); err == nil || !strings.Contains(err.Error(), "--rrdcached-tls") {
		t.Errorf("without the files: %v", err)
	}
}

// TestSeveralAddressesOfHTTP: --http took one address. Each of several has the same routes.
func TestSeveralAddressesOfHTTP(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	r := start(t, server.Config{HTTP: []server.Address{anyPort, {Addr: taken.Addr().String()}, {Addr: "localhost:0", Named: true}}, Ways: fakeWays(nil)})
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
	err = server.Run(t.Context(), server.Config{DB: filepath.Join(t.TempDir(), "db"), HTTP: []server.Address{anyPort, {Addr: taken.Addr().String(), Named: true}}})
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
	r := start(t, server.Config{
		HTTP: []server.Address{anyPort, {Addr: "localhost:0", Named: true}, {Addr: "127.0.0.2:0", Named: true}}, WebConfig: file, Ways: fakeWays(nil),
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
		err := server.Run(t.Context(), server.Config{DB: filepath.Join(t.TempDir(), "db"), HTTP: anyPorts, WebConfig: file})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
