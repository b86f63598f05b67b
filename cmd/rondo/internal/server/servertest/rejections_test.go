package servertest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
)

// sendWhole sends a request with a body of n bytes, in chunks or not, before it reads the answer,
// as many clients do.
func sendWhole(t *testing.T, c net.Conn, path string, n int, chunked bool) *http.Response {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	length := fmt.Sprint("Content-Length: ", n)
	if chunked {
		length = "Transfer-Encoding: chunked"
	}
	if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s\r\n\r\n", path, length); err != nil {
		t.Fatal(err)
	}
	piece := bytes.Repeat([]byte{'x'}, 1<<16)
	for ; n > 0; n -= len(piece) {
		if chunked {
			piece = fmt.Appendf(nil, "%x\r\n%s\r\n", 1<<16, bytes.Repeat([]byte{'x'}, 1<<16))
		}
		if _, err := c.Write(piece[:min(n, len(piece))]); err != nil {
			t.Fatalf("%s: %d bytes before the end of the body: %v", path, n, err)
		}
	}
	if chunked {
		if _, err := c.Write([]byte("0\r\n\r\n")); err != nil {
			t.Fatalf("%s: at the end of the body: %v", path, err)
		}
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return answer
}

// TestRefusedBodiesGetTheirAnswer: the connection of a client that sends its whole body first was
// reset, so that it never read why it was refused.
func TestRefusedBodiesGetTheirAnswer(t *testing.T) {
	t.Parallel()
	const long = 24 << 20
	r := start(t, server.Config{HTTP: anyPorts, Ways: postedWays("on")})
	guarded, a := startSecured(t, server.Config{})
	for _, tt := range []struct {
		path    string
		size    int
		chunked bool
		code    int
		text    string
	}{
		{"/rondo.v1.Rondo/Write", long, false, 429, "too long"}, // Connect's status of resource_exhausted
		{"/rondo.v1.Rondo/Write", long, true, 429, "too long"},
		{"/rondo.v1.Rondo/ExportMany", long, false, 429, "too long"},
		{"/rondo.v1.Rondo/Exec", 4 * long, false, 429, ""},
		{"/posted", long, false, 413, "too long"},
		{"/posted", long, true, 413, "too long"},
		{"/posted", 1 << 20, false, 401, "say who you are"},
		{"/posted", long, true, 401, "say who you are"},
		{"/rondo.v1.Rondo/Write", long, true, 401, "say who you are"},
	} {
		c, err := net.Dial("tcp", r.HTTP.String())
		if tt.code == 401 {
			c, err = tls.Dial("tcp", guarded.HTTP.String(), &tls.Config{RootCAs: a.Pool()})
		}
		if err != nil {
			t.Fatal(err)
		}
		answer := sendWhole(t, c, tt.path, tt.size, tt.chunked)
		text, err := io.ReadAll(answer.Body)
		if answer.StatusCode != tt.code || !strings.Contains(string(text), tt.text) || err != nil || !answer.Close {
			t.Errorf("%s of %d bytes, chunked %v: %s, %q, %v", tt.path, tt.size, tt.chunked, answer.Status, text, err)
		}
		_ = c.Close() // the answer was read
	}
}

// TestAmbiguousLengthsEndTheConnection: a proxy may see another end of a request with two lengths,
// and what it takes for a body is the next request here (RFC 9112, section 6.3).
func TestAmbiguousLengthsEndTheConnection(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts})
	const next = "GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
	for name, head := range map[string]string{
		"both":           "HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
		"the other way":  "HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		"version 1.0":    "HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		"version 1.0, 0": "HTTP/1.0\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
	} {
		for _, path := range []string{"/rondo.v1.Rondo/List", "/-/healthy", "/nosuch"} {
			c, err := net.Dial("tcp", r.HTTP.String())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, "POST "+path+" "+head+"0\r\n\r\n"+next); err != nil {
				t.Fatal(err)
			}
			all, _ := io.ReadAll(c) // it may end by a reset: something was sent that nobody reads
			if n := bytes.Count(all, []byte("HTTP/1.")); n != 1 || bytes.Contains(all, []byte("rondo is healthy")) && path != "/-/healthy" {
				t.Errorf("%s, %s: %d answers: %q", name, path, n, all)
			}
			_ = c.Close() // it has ended
		}
	}
}
