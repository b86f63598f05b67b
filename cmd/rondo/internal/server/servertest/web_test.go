package servertest

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
)

// guarded is the file of a server with TLS, users and tokens. Tokens are their names.
func guarded(t *testing.T) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("wonder"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`
tls_server_config: {cert_file: server.crt, key_file: server.key, client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.crt}
http_server_config: {headers: {Strict-Transport-Security: max-age=60}}
basic_auth_users: {alice: %q}
rondo:
  users: {alice: {role: read}, agent: {role: write}}
  client_certificates: [{cn: agent, user: agent}]
  tokens:
    - {name: reader, role: read, sha256: %q}
    - {name: writer, role: write, sha256: %q}
    - {name: admin, role: admin, sha256: %q}
    - {name: tenant, role: admin, sha256: %q, prefixes: [mine]}
    - {name: past, role: admin, sha256: %q, expires: 2020-01-01}
`, hash, webconfig.HashToken("reader"), webconfig.HashToken("writer"), webconfig.HashToken("admin"), webconfig.HashToken("tenant"), webconfig.HashToken("past"))
}

// startSecured starts a server with the file guarded.
func startSecured(t *testing.T, c server.Config) (*running, *webconfigtest.Authority) {
	t.Helper()
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	c.WebConfig = a.Write(t, "web.yml", guarded(t))
	if c.HTTP == nil {
		c.HTTP = anyPorts
	}
	return start(t, c), a
}

// secureClient is a client that trusts a, with a certificate if cert is not empty.
func secureClient(t *testing.T, a *webconfigtest.Authority, cert string, http2 bool) *http.Client {
	t.Helper()
	c := &tls.Config{RootCAs: a.Pool()}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(a.Dir+"/"+cert+".crt", a.Dir+"/"+cert+".key")
		if err != nil {
			t.Fatal(err)
		}
		// sent whether or not the server names its authority
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	var p http.Protocols
	p.SetHTTP1(!http2)
	p.SetHTTP2(http2)
	tr := &http.Transport{TLSClientConfig: c, Protocols: &p}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}

// ask sends a request and returns status, text and header of the answer.
func ask(t *testing.T, c *http.Client, method, url, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // it is read to its end
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(text), a.Header
}

const createBody = `{"path":"%s","definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:10"]}}`

// TestCredentials: each kind of credentials lets in whom it should, and nobody else, over HTTP/1
// and HTTP/2.
func TestCredentials(t *testing.T) {
	r, a := startSecured(t, server.Config{})
	a.Leaf(t, "agent", webconfigtest.Leaf{})
	a.Leaf(t, "nobody", webconfigtest.Leaf{})
	url := "https://" + r.HTTP.String()
	call := func(method string) string { return url + "/rondo.v1.Rondo/" + method }
	for _, http2 := range []bool{false, true} {
		plain, agent, nobody := secureClient(t, a, "", http2), secureClient(t, a, "agent", http2), secureClient(t, a, "nobody", http2)
		path := fmt.Sprintf("series%v", http2)
		for _, tt := range []struct {
			name          string
			c             *http.Client
			method, body  string
			authorization string
			code          int
			want          string
		}{
			{"none", plain, "List", "{}", "", 401, "unauthenticated"},
			{"wrong password", plain, "List", "{}", "Basic YWxpY2U6d3Jvbmc=", 401, "unauthenticated"},
			{"password", plain, "List", "{}", "Basic YWxpY2U6d29uZGVy", 200, "{"},
			{"reader's password writes", plain, "Write", `{"samples":[{"path":"x","update":"N:1"}]}`, "Basic YWxpY2U6d29uZGVy", 403, "permission_denied"},
			{"reader creates", plain, "Create", fmt.Sprintf(createBody, path), "Bearer reader", 403, "this needs the role write"},
			{"writer creates", plain, "Create", fmt.Sprintf(createBody, path), "Bearer writer", 200, "ref"},
			{"certificate writes", agent, "Write", `{"samples":[{"path":"` + path + `","update":"N:1"}]}`, "", 200, `"accepted":"1"`},
			{"writer overwrites", plain, "Create", strings.Replace(fmt.Sprintf(createBody, path), "{", `{"overwrite":true,`, 1), "Bearer writer", 403, "this needs the role admin"},
			{"writer drops", plain, "Drop", `{"path":"` + path + `"}`, "Bearer writer", 403, "permission_denied"},
			{"expired token", plain, "Drop", `{"path":"` + path + `"}`, "Bearer past", 401, "unauthenticated"},
			{"unknown token", plain, "Drop", `{"path":"` + path + `"}`, "Bearer x", 401, "unauthenticated"},
			{"certificate of nobody", nobody, "List", "{}", "", 401, "unauthenticated"},
			{"outside the prefix", plain, "Drop", `{"path":"` + path + `"}`, "Bearer tenant", 403, "limited to"},
			{"about all", plain, "Stats", `{}`, "Bearer tenant", 403, "about all series"},
			{"inside the prefix", plain, "Create", fmt.Sprintf(createBody, "mine/"+path), "Bearer tenant", 200, "ref"},
			{"admin drops", plain, "Drop", `{"path":"` + path + `"}`, "Bearer admin", 200, "{}"},
		} {
			var header []string
			if tt.authorization != "" {
				header = []string{"Authorization", tt.authorization}
			}
			code, text, h := ask(t, tt.c, "POST", call(tt.method), tt.body, header...)
			if code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%s, HTTP/2 %v: got %d %s, want %d with %q", tt.name, http2, code, text, tt.code, tt.want)
			}
			if got := strings.Join(h.Values("WWW-Authenticate"), ", "); (code == 401) != strings.Contains(got, `Basic realm="rondo"`) {
				t.Errorf("%s: %d with the challenge %q", tt.name, code, got)
			}
			if h.Get("Strict-Transport-Security") != "max-age=60" {
				t.Errorf("%s: headers %v", tt.name, h)
			}
		}
		for path, want := range map[string]int{"/": 401, "/metrics": 401, "/graph.svg": 401, "/rrd_updates?start=0": 401, "/rondo.proto": 401, "/-/healthy": 200, "/-/ready": 200} {
			if code, text, _ := ask(t, plain, "GET", url+path, ""); code != want {
				t.Errorf("%s without credentials: %d %s", path, code, text)
			}
		}
		if code, text, _ := ask(t, plain, "GET", url+"/", "", "Authorization", "Basic YWxpY2U6d29uZGVy"); code != 200 || !strings.Contains(text, "<html") {
			t.Errorf("the page for who has a password: %d %s", code, text)
		}
	}
	if log := r.log.String(); strings.Contains(log, "wonder") || strings.Contains(log, "without authentication") {
		t.Errorf("the log:\n%s", log)
	}
}

// TestCertificatesThatAreNotTaken: an expired certificate, and one of another authority, end the
// handshake; and no byte of HTTP is answered without TLS.
func TestCertificatesThatAreNotTaken(t *testing.T) {
	r, a := startSecured(t, server.Config{})
	a.Leaf(t, "old", webconfigtest.Leaf{CN: "agent", Expires: time.Now().Add(-time.Minute)})
	other := webconfigtest.New(t, "other tests")
	other.Leaf(t, "agent", webconfigtest.Leaf{})
	// stranger trusts the server, and has a certificate of another authority.
	logForeign := &webconfigtest.Authority{Dir: other.Dir, Cert: a.Cert}
	for name, c := range map[string]*http.Client{"expired": secureClient(t, a, "old", false), "another authority's": secureClient(t, logForeign, "agent", false)} {
		answer, err := c.Get("https://" + r.HTTP.String() + "/-/healthy")
		if err == nil {
			_ = answer.Body.Close()
			t.Errorf("with a certificate that is %s: %s", name, answer.Status)
		} else if !strings.Contains(err.Error(), "tls: ") && !strings.Contains(err.Error(), "connection reset") && !strings.Contains(err.Error(), "broken pipe") {
			t.Errorf("with a certificate that is %s: %v", name, err)
		}
	}
	if code, text := get(t, r.url("/metrics")); code != http.StatusBadRequest || strings.Contains(text, "rondo_") {
		t.Errorf("without TLS: %d %s", code, text)
	}
}

// TestReloadDuringRequests: while clients ask, the certificate and the users change. No request
// fails, a user who is taken out is out on its old connection too, and a mistake changes nothing.
func TestReloadDuringRequests(t *testing.T) {
	t.Parallel()
	r, a := startSecured(t, server.Config{})
	url := "https://" + r.HTTP.String() + "/rondo.v1.Rondo/List"
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for i := range 4 {
		c := secureClient(t, a, "", i%2 == 0)
		running.Go(func() {
			for ctx.Err() == nil {
				q, err := http.NewRequestWithContext(t.Context(), "GET", url+"?encoding=json&message=%7B%7D", nil)
				if err != nil {
					t.Error(err)
					return
				}
				q.Header.Set("Authorization", "Bearer admin")
				q.Close = i == 3 // a connection for each request
				answer, err := c.Do(q)
				if err != nil {
					t.Errorf("client %d: %v", i, err)
					return
				}
				_, _ = io.Copy(io.Discard, answer.Body) // only the status matters
				_ = answer.Body.Close()
				if answer.StatusCode != 200 {
					t.Errorf("client %d: %s", i, answer.Status)
					return
				}
			}
		})
	}
	old := secureClient(t, a, "", false)
	if code, text, _ := ask(t, old, "POST", url, "{}", "Authorization", "Bearer reader"); code != 200 {
		t.Fatalf("reader: %d %s", code, text)
	}
	eventually(t, "the new certificate is sent", func() bool {
		a.Leaf(t, "server", webconfigtest.Leaf{CN: "renewed"})
		c, err := tls.Dial("tcp", r.HTTP.String(), &tls.Config{RootCAs: a.Pool()})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }() // nothing was sent
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName == "renewed"
	})
	a.Write(t, "web.yml", strings.Replace(guarded(t), "name: reader, role: read", "name: other, role: none", 1))
	eventually(t, "reader is out", func() bool {
		code, _, _ := ask(t, old, "POST", url, "{}", "Authorization", "Bearer reader")
		return code == 403
	})
	a.Write(t, "web.yml", "basic_auth_users: {alice: hunter2}")
	eventually(t, "the status tells of the mistake", func() bool {
		code, text, _ := ask(t, old, "POST", strings.Replace(url, "List", "Status", 1), "{}", "Authorization", "Bearer admin")
		if code != 200 || strings.Contains(text, "hunter2") {
			t.Fatalf("status: %d %s", code, text)
		}
		return strings.Contains(text, `"web_config"`) && strings.Contains(text, "the value of alice is no bcrypt hash")
	})
	if !strings.Contains(r.log.String(), "the value of alice is no bcrypt hash") {
		t.Error("the log does not tell of the mistake")
	}
	if strings.Contains(r.log.String(), "hunter2") {
		t.Error("the log has a secret")
	}
	cancel()
	running.Wait()
}

// TestNothingIsReadOfStrangers: a request without credentials is refused before its body has
// arrived, and a connection that sends nothing ends.
func TestNothingIsReadOfStrangers(t *testing.T) {
	t.Parallel()
	r, a := startSecured(t, server.Config{})
	c, err := tls.Dial("tcp", r.HTTP.String(), &tls.Config{RootCAs: a.Pool()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // the answer was read
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "POST /rondo.v1.Rondo/Write HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401 ") {
		t.Errorf("got %q, %v", answer, err)
	}
	b := middleware.DefaultBounds(0)
	b.Header = 200 * time.Millisecond
	impatient, _ := startSecured(t, server.Config{HTTPBounds: &b})
	silent, err := net.Dial("tcp", impatient.HTTP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }() // nothing was sent
	if err := silent.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if n, err := silent.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("a connection without a handshake: %d bytes, %v", n, err)
	}
}

// TestAnonymousReads: where requests without credentials may read, they read and do nothing else,
// and a browser is asked for a password at /login.
func TestAnonymousReads(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	r := start(t, server.Config{HTTP: anyPorts, WebConfig: a.Write(t, "web.yml", strings.Replace(guarded(t), "rondo:\n", "rondo:\n  anonymous: read\n", 1))})
	c, url := secureClient(t, a, "", false), "https://"+r.HTTP.String()
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, tt := range []struct {
		method, path, body, authorization string
		code                              int
	}{
		{"GET", "/", "", "", 200},
		{"POST", "/rondo.v1.Rondo/List", "{}", "", 200},
		{"POST", "/rondo.v1.Rondo/Create", fmt.Sprintf(createBody, "x"), "", 401},
		{"POST", "/rondo.v1.Rondo/SaveDashboard", `{"name":"x","text":"graph: x"}`, "", 401},
		{"POST", "/rondo.v1.Rondo/List", "{}", "Bearer wrong", 401},
		{"GET", "/login", "", "", 401},
		{"GET", "/login", "", "Basic YWxpY2U6d29uZGVy", 303},
	} {
		var header []string
		if tt.authorization != "" {
			header = []string{"Authorization", tt.authorization}
		}
		code, text, h := ask(t, c, tt.method, url+tt.path, tt.body, header...)
		if code != tt.code || (code == 401) != (h.Get("WWW-Authenticate") != "") {
			t.Errorf("%s %s as %q: %d %s, want %d", tt.method, tt.path, tt.authorization, code, text, tt.code)
		}
	}
	_, text, _ := ask(t, c, "POST", url+"/rondo.v1.Rondo/Dashboards", "{}")
	_, writer, _ := ask(t, c, "POST", url+"/rondo.v1.Rondo/Dashboards", "{}", "Authorization", "Bearer writer")
	if strings.Contains(text, "maySave") || !strings.Contains(writer, `"maySave":true`) {
		t.Errorf("the page is told that it may save: without credentials %s, as a writer %s", text, writer)
	}
}
