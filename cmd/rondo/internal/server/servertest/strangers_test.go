package servertest

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/internal/access"
)

// changing returns the paths of all requests that change something, of RPC and of receivers.
func changing() (paths []string) {
	for path, n := range middleware.Permissions {
		if n.Role >= access.Write && strings.HasPrefix(path, "/rondo.v1.Rondo/") {
			paths = append(paths, path)
		}
	}
	return append(paths, "/posted")
}

// TestPagesOfOtherSitesChangeNothing: what a page of another site can make a browser send, with the
// browser's password, is refused at each address that changes something: by its Origin, by a name
// that means this machine (DNS rebinding), as a form, as text, and as a GET.
func TestPagesOfOtherSitesChangeNothing(t *testing.T) {
	r, a := startSecured(t, server.Config{Ways: postedWays("on")})
	c := secureClient(t, a, "", false)
	url := "https://" + r.HTTP.String()
	body := `{"path":"victim","to":"victim2","name":"victim","text":"graph: x","samples":[{"path":"victim","update":"N:1"}]` +
		`,"definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:10"]}}`
	paths := changing()
	if len(paths) < 6 {
		t.Fatalf("only %q change something", paths)
	}
	for _, path := range paths {
		for _, tt := range []struct {
			name, method string
			code         int // 0: any but success
			header       []string
		}{
			{"another Origin", "POST", 403, []string{"Origin", "https://evil.example"}},
			{"hidden Origin", "POST", 403, []string{"Origin", "null"}},
			{"another port", "POST", 403, []string{"Origin", "http://127.0.0.1:3000"}},
			{"rebound", "POST", 403, []string{"Host", "evil.example", "Origin", "https://evil.example"}},
			{"rebound without Origin", "POST", 403, []string{"Host", "evil.example"}},
			{"no Origin, from another site", "POST", 403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}},
			{"form on another site", "POST", 403, []string{"Origin", "https://evil.example", "Content-Type", "application/x-www-form-urlencoded"}},
			{"text of another site", "POST", 403, []string{"Origin", "https://evil.example", "Content-Type", "text/plain"}},
			{"preflight", "OPTIONS", 403, []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}},
			{"image on another site", "GET", 403, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}},
			{"text", "POST", 0, []string{"Content-Type", "text/plain"}},
			{"form", "POST", 0, []string{"Content-Type", "application/x-www-form-urlencoded"}},
			{"link", "GET", 0, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}},
		} {
			if path == "/posted" && tt.code == 0 {
				continue // receivers take what their senders send; they are refused by Origin and Host
			}
			target, sent := url+path, body
			if tt.method == "GET" {
				target, sent = target+"?encoding=json&message=%7B%22path%22%3A%22victim%22%7D", ""
			}
			code, text, h := ask(t, c, tt.method, target, sent, append(tt.header, "Authorization", "Bearer admin")...)
			if code != tt.code && tt.code != 0 || code < 300 {
				t.Errorf("%s, %s: %d %s", path, tt.name, code, text)
			}
			if h.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: the page may read the answer", path, tt.name)
			}
		}
	}
	if _, text, _ := ask(t, c, "POST", url+"/rondo.v1.Rondo/List", "{}", "Authorization", "Bearer admin"); strings.Contains(text, "victim") {
		t.Errorf("a series was made: %s", text)
	}
	if code, text, _ := ask(t, c, "POST", url+"/posted", "x", "Origin", url, "Authorization", "Bearer writer"); code != 200 {
		t.Errorf("a page of the server itself: %d %s", code, text)
	}
}

// TestTenThousandIdleConnections: one client opens ten thousand connections and leaves them. The
// server keeps a bounded number, and answers everybody.
func TestTenThousandIdleConnections(t *testing.T) {
	r, a := startSecured(t, server.Config{})
	c := secureClient(t, a, "", false)
	url := "https://" + r.HTTP.String()
	const window = 1500 // more than the server keeps; those before were closed by it
	var open [window]net.Conn
	for i := range 10_000 {
		conn, err := net.Dial("tcp", r.HTTP.String())
		if err != nil {
			t.Fatal(err)
		}
		if old := open[i%window]; old != nil {
			_ = old.Close() // nothing was sent
		}
		open[i%window] = conn
		if i%2500 == 2499 {
			if code, text, _ := ask(t, c, "GET", url+"/-/ready", ""); code != 200 {
				t.Errorf("after %d connections: %d %s", i+1, code, text)
			}
		}
	}
	code, text, _ := ask(t, c, "GET", url+"/metrics", "", "Authorization", "Bearer reader")
	n := 0
	for line := range strings.Lines(text) {
		if _, err := fmt.Sscanf(line, "rondo_http_connections %d", &n); err == nil {
			break
		}
	}
	if most := int(middleware.DefaultBounds(0).Conns.Client); code != 200 || n == 0 || n > most {
		t.Errorf("%d: %d connections are kept, at most %d may be", code, n, most)
	}
	for _, conn := range open {
		_ = conn.Close() // nothing was sent
	}
}

// TestRapidReset: a client opens streams of HTTP/2 and resets them at once, thousands of times. The
// server does not work for more of them than it has places, and answers others.
func TestRapidReset(t *testing.T) {
	r, a := startSecured(t, server.Config{})
	conn, err := tls.Dial("tcp", r.HTTP.String(), &tls.Config{RootCAs: a.Pool(), NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the server may have
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }() // until the connection ends
	f := http2.NewFramer(conn, nil)
	if err := f.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var head strings.Builder
	enc := hpack.NewEncoder(&head)
	sent := 0
	for i := range 20_000 {
		head.Reset()
		for _, h := range [][2]string{
			{":method", "POST"},
			{":scheme", "https"},
			{":authority", "127.0.0.1"},
			{":path", "/rondo.v1.Rondo/List"},
			{"content-type", "application/json"},
			{"authorization", "Bearer reader"},
		} {
			if err := enc.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
				t.Fatal(err)
			}
		}
		id := uint32(2*i + 1)
		if f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(head.String()), EndHeaders: true}) != nil ||
			f.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break // the server has ended the connection
		}
		sent++
	}
	if sent == 0 {
		t.Error("no stream was opened")
	}
	c := secureClient(t, a, "", true)
	code, text, _ := ask(t, c, http.MethodPost, "https://"+r.HTTP.String()+"/rondo.v1.Rondo/List", "{}", "Authorization", "Bearer reader")
	if code != 200 {
		t.Errorf("another client, after %d resets: %d %s", sent, code, text)
	}
	eventually(t, "nothing is left of the streams", func() bool {
		_, text, _ := ask(t, c, "GET", "https://"+r.HTTP.String()+"/metrics", "", "Authorization", "Bearer reader")
		return strings.Contains(text, "\nrondo_http_requests_working 0\n") && strings.Contains(text, "\nrondo_http_held_bytes 0\n")
	})
}

// TestReboundPageIsRefusedBeforeItsBody: a page of evil.example, whose name had been made to mean
// this machine, dropped a series. The answer comes before the body, which is not waited for.
func TestReboundPageIsRefusedBeforeItsBody(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts, Ways: fakeWays(nil)})
	send(t, r.Receivers["fake"], "one")
	info := func() int {
		code, _ := post(t, r.url("/rondo.v1.Rondo/Info"), `{"path":"one"}`)
		return code
	}
	eventually(t, "the series is there", func() bool { return info() == 200 })
	body := `{"path":"one"}`
	ask := func(host, origin string, length int, body string) *http.Response {
		t.Helper()
		c, err := net.Dial("tcp", r.HTTP.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(c, "POST /rondo.v1.Rondo/Drop HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", host, origin, length, body)
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, a := range []*http.Response{
		ask("evil.example", "http://evil.example", len(body), body),
		ask("evil.example", "http://evil.example", 1<<20, ""), // the body never comes
		ask(r.HTTP.String(), "http://evil.example", len(body), body),
	} {
		if a.StatusCode != http.StatusForbidden {
			t.Errorf("got %s", a.Status)
		}
	}
	if got := info(); got != 200 {
		t.Errorf("the series is gone: %d", got)
	}
	if !strings.Contains(r.log.String(), "--http-host evil.example") {
		t.Errorf("the log does not name the flag:\n%s", r.log)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url("/-/healthy"), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = "balancer.example"
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_ = a.Body.Close()
	if a.StatusCode != 200 {
		t.Errorf("health by another name: %d", a.StatusCode)
	}
	_, page := get(t, r.url("/metrics"))
	if !strings.Contains(page, "\n"+`rondo_http_requests_refused_total{reason="host"} 3`+"\n") {
		t.Errorf("three refusals are not counted:\n%s", page)
	}
}
