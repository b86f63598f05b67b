package servertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// smallBounds are limits that a test reaches.
func smallBounds() *middleware.Bounds {
	b := middleware.DefaultBounds(0)
	b.Places[middleware.Cheap], b.Places[middleware.Heavy] = middleware.Share{Most: 4, Client: 3}, middleware.Share{Most: 4, Client: 3}
	return &b
}

// metric returns the value of a metric without labels.
func metric(t *testing.T, r *running, name string) float64 {
	t.Helper()
	code, page := get(t, r.url("/metrics"))
	if code != 200 {
		t.Fatalf("/metrics: %d %s", code, page)
	}
	_, rest, ok := strings.Cut(page, "\n"+name+" ")
	if !ok {
		t.Fatalf("no metric %s in\n%s", name, page)
	}
	text, _, _ := strings.Cut(rest, "\n")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// answersAll checks that health, metrics and a call are answered now.
func (r *running) answersAll(t *testing.T, when string) {
	t.Helper()
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	for _, path := range []string{"/-/healthy", "/-/ready", "/metrics"} {
		a, err := h.Get(r.url(path))
		if err != nil {
			t.Fatalf("%s: %s: %v", when, path, err)
		}
		_ = a.Body.Close()
		if a.StatusCode != 200 {
			t.Errorf("%s: %s answers %s", when, path, a.Status)
		}
	}
	a, err := h.Post(r.url("/rondo.v1.Rondo/List"), "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatalf("%s: List: %v", when, err)
	}
	_ = a.Body.Close()
	if a.StatusCode != 200 {
		t.Errorf("%s: List answers %s", when, a.Status)
	}
}

// TestStreamsWithoutBodyHoldNoPlace: 240 streams of one HTTP/2 connection whose bodies never came
// took all places for a minute, and /metrics and /-/healthy answered 503.
func TestStreamsWithoutBodyHoldNoPlace(t *testing.T) {
	const streams = 40
	b := smallBounds()
	b.Send.Grace = time.Hour // nothing but the room helps
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b, Grace: 50 * time.Millisecond})
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p}
	ctx, cancel := context.WithCancel(t.Context())
	defer tr.CloseIdleConnections()
	defer cancel()
	for range streams {
		body, held := io.Pipe()
		defer func() { _ = held.Close() }()
		q, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url("/rondo.v1.Rondo/Write"), body)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/proto")
		go func() {
			if a, err := tr.RoundTrip(q); err == nil {
				_ = a.Body.Close()
			}
		}()
	}
	eventually(t, "the streams are there", func() bool { return metric(t, r, "rondo_http_requests_pending") == streams })
	if n := metric(t, r, "rondo_http_requests_working"); n != 0 {
		t.Errorf("%v of them have a place", n)
	}
	r.answersAll(t, "with streams that have no body")
}

// bigSeries makes a series of many rows, all unknown, and returns a Fetch of so many of them.
func bigSeries(t *testing.T, r *running, rows int64) *rondov1.FetchRequest {
	t.Helper()
	c := rondov1.NewRondoClient(http.DefaultClient, "http://"+r.HTTP.String())
	const end = 1_700_000_000
	_, err := c.Create(t.Context(), &rondov1.CreateRequest{
		Path: "big", Start: strconv.Itoa(end),
		Definition: &rondov1.Definition{Step: 1, Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{fmt.Sprintf("RRA:LAST:0.5:1:%d", rows)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &rondov1.FetchRequest{Path: "big", Cf: "LAST", Start: strconv.FormatInt(end-rows, 10), End: strconv.Itoa(end - 1)}
}

// TestAnswersThatNobodyReadsAreBounded: 40 clients that asked for large answers and did not read
// them took all places, and 1.2 GB.
func TestAnswersThatNobodyReadsAreBounded(t *testing.T) {
	const (
		rows    = 1 << 20
		held    = 16 * rows // bytes that one answer is charged
		clients = 8
	)
	b := smallBounds()
	b.Memory = middleware.Share{Most: 3 * held, Client: 2*held + held/2}
	b.Read = middleware.Pace{Grace: time.Hour, Rate: 1}
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b, Grace: 50 * time.Millisecond})
	fetch := bigSeries(t, r, rows)
	body := fmt.Sprintf(`{"path":%q,"cf":%q,"start":%q,"end":%q}`, fetch.Path, fetch.Cf, fetch.Start, fetch.End)
	large := func() *bufio.Reader {
		t.Helper()
		c, err := net.Dial("tcp", r.HTTP.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		// An answer in binary is charged least, and so there are most of them.
		m := protoFetch(t, fetch)
		if _, err := fmt.Fprintf(c, "POST /rondo.v1.Rondo/Fetch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\nContent-Length: %d\r\n\r\n%s", len(m), m); err != nil {
			t.Fatal(err)
		}
		return bufio.NewReader(c)
	}
	refused := 0
	for range clients {
		line, err := large().ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, " 429 ") {
			refused++
		} else if !strings.Contains(line, " 200 ") {
			t.Errorf("an answer begins %q", line)
		}
	}
	if refused != clients-2 {
		t.Errorf("%d of %d answers are refused, there is room for 2", refused, clients)
	}
	if n := metric(t, r, "rondo_http_held_bytes"); n > 2.5*held {
		t.Errorf("answers hold %v bytes", n)
	}
	if n := metric(t, r, "rondo_http_requests_working"); n != 0 {
		t.Errorf("%v answers that wait to be read have a place", n)
	}
	r.answersAll(t, "with answers that nobody reads")
	code, answer := post(t, r.url("/rondo.v1.Rondo/Fetch"), body)
	if code != 429 || !strings.Contains(answer, "resource_exhausted") || !strings.Contains(answer, "memory") {
		t.Errorf("a large Fetch: %d %.300s", code, answer)
	}
}

func protoFetch(t *testing.T, m *rondov1.FetchRequest) []byte {
	t.Helper()
	var b bytes.Buffer
	h := &http.Client{Transport: roundTrip(func(q *http.Request) (*http.Response, error) {
		_, err := io.Copy(&b, q.Body)
		if err == nil {
			err = io.ErrUnexpectedEOF // nobody answers
		}
		return nil, err
	})}
	_, _ = rondov1.NewRondoClient(h, "http://localhost").Fetch(t.Context(), m)
	if b.Len() == 0 {
		t.Fatal("no message")
	}
	return b.Bytes()
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// TestAnswerThatIsNotReadEnds: the connection of a client that does not read is closed, and what
// its answer held is free.
func TestAnswerThatIsNotReadEnds(t *testing.T) {
	const rows = 1 << 20
	b := smallBounds()
	b.Memory = middleware.Share{Most: 32 * rows, Client: 32 * rows}
	b.Read = middleware.Pace{Grace: 200 * time.Millisecond, Rate: 1 << 30}
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b})
	m := protoFetch(t, bigSeries(t, r, rows))
	c, err := net.Dial("tcp", r.HTTP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "POST /rondo.v1.Rondo/Fetch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\nContent-Length: %d\r\n\r\n%s", len(m), m); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReaderSize(c, 16).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the answer is given up", func() bool {
		return metric(t, r, "rondo_http_held_bytes") == 0 && metric(t, r, "rondo_http_requests_pending") == 0
	})
}

// TestIdleConnectionsTakeNothingAway: 1,024 connections that said nothing took /-/healthy and the
// RPC away from everybody.
func TestIdleConnectionsTakeNothingAway(t *testing.T) {
	const idle = 60
	b := smallBounds()
	b.Conns = middleware.Share{Most: 20, Client: 16}
	b.Header, b.Idle = time.Hour, time.Hour
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b})
	conns := make([]net.Conn, idle)
	for i := range conns {
		c, err := net.Dial("tcp", r.HTTP.String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		conns[i] = c
	}
	r.answersAll(t, "with idle connections")
	if n := metric(t, r, "rondo_http_connections"); n > 16 {
		t.Errorf("%v connections of one client are open", n)
	}
	if n := metric(t, r, "rondo_http_connections_closed_total"); n < idle-16 {
		t.Errorf("%v connections were closed for others", n)
	}
	// The one that was idle longest has gone.
	if err := conns[0].SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conns[0].Read(make([]byte, 1)); err == nil || isTimeout(err) {
		t.Errorf("the first connection: %v", err)
	}
}

func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

// TestSlowBodyIsEnded: a body that does not come has a deadline, which grows with what has come.
func TestSlowBodyIsEnded(t *testing.T) {
	t.Parallel()
	b := smallBounds()
	b.Send = middleware.Pace{Grace: 50 * time.Millisecond, Rate: 1 << 30}
	r := start(t, server.Config{HTTP: anyPorts, HTTPBounds: b})
	for name, length := range map[string]int{"slow": 1000, "long": 1 << 30} {
		c, err := net.Dial("tcp", r.HTTP.String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(c, "POST /rondo.v1.Rondo/List HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", length); err != nil {
			t.Fatal(err)
		}
		in := bufio.NewReader(c)
		a, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"slow": "deadline_exceeded", "long": "resource_exhausted"}[name]; !strings.Contains(string(text), want) {
			t.Errorf("%s: %s %s", name, a.Status, text)
		}
		if _, err := in.ReadByte(); err == nil || isTimeout(err) {
			t.Errorf("%s: the connection stays open: %v", name, err)
		}
	}
	_, page := get(t, r.url("/metrics"))
	for _, reason := range []string{"slow", "long"} {
		if !strings.Contains(page, fmt.Sprintf("\nrondo_http_requests_refused_total{reason=%q} 1\n", reason)) {
			t.Errorf("%s is not counted", reason)
		}
	}
}

// TestEndIsBounded: SIGTERM took 9.7 s while requests were under way, and the log did not say why.
func TestEndIsBounded(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts, Grace: 50 * time.Millisecond})
	c, err := net.Dial("tcp", r.HTTP.String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := fmt.Fprint(c, "POST /rondo.v1.Rondo/List HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request is there", func() bool { return metric(t, r, "rondo_http_requests_pending") == 1 })
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`msg="waiting for open requests" requests=1 "at most"=50ms`, `msg="open requests cut off"`} {
		if !strings.Contains(r.log.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, r.log)
		}
	}
}
