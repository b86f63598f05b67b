package rpc_test

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/unixsocket"
)

// TestShortAnswersAreNotPacked: every answer to a client that takes gzip was packed, however short,
// which took longer than to make it.
func TestShortAnswersAreNotPacked(t *testing.T) {
	store, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	for _, s := range []string{"b", "c"} {
		create(t, c, "long/"+s+strings.Repeat("x", 1000))
	}
	for request, want := range map[string]string{`{"prefix":"a"}`: "", `{"prefix":"long"}`: "gzip"} {
		r := packing(t, url+"/rondo.v1.Rondo/List", "application/json", "Accept-Encoding", request)
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close() // the header says it all
		if got := a.Header.Get("Content-Encoding"); a.StatusCode != http.StatusOK || got != want {
			t.Errorf("List %s: status %d, packed by %q, want %q", request, a.StatusCode, got, want)
		}
	}

	dir := t.TempDir()
	serveLocal(t, dir, store)
	h := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return unixsocket.Dial(ctx, dir+"/"+rpc.SocketName)
	}}}
	defer h.CloseIdleConnections()
	for request, want := range map[string]byte{
		`{"argv":["last","a"]}`: 0,
		`{"argv":["dump","a"]}`: 1,
	} {
		body := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(request)))
		r := packing(t, "http://"+rpc.SocketName+"/rondo.v1.Rondo/Exec", "application/connect+json", "Connect-Accept-Encoding", string(body)+request)
		a, err := h.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = a.Body.Close()
		if a.StatusCode != http.StatusOK || len(b) == 0 || b[0]&1 != want {
			t.Errorf("Exec %s: status %d, begins with % .10x: its flags, want %d", request, a.StatusCode, b, want)
		}
	}
}

// packing returns a request of a client that takes gzip, as its header says.
func packing(t *testing.T, url, contentType, header, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	r.Header.Set(header, "gzip")
	return r
}

// TestSocketsAskForNothingPacked: a client at a server's socket had every answer packed, backups
// included, to unpack it on the same machine.
func TestSocketsAskForNothingPacked(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	var asked []string // what each request says it takes
	mux := http.NewServeMux()
	mux.Handle(commandsOf(enginetest.Open(t)))
	serveHandler(t, dir, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Header.Get("Accept-Encoding")+r.Header.Get("Connect-Accept-Encoding"))
		mu.Unlock()
		mux.ServeHTTP(w, r)
	}))
	c := dialLocal(t, dir)
	if out, errOut, code := run(t, c, &rondov1.ExecRequest{Argv: []string{"help"}}); code != 0 {
		t.Fatal(out, errOut)
	}
	_ = call(c.Control, t.Context(), &rondov1.ControlRequest{}) // this server takes no commands
	if a, err := c.SendForm(t.Context(), http.MethodPost, "/api/v1/query", nil); err != nil {
		t.Fatal(err)
	} else {
		_ = a.Body.Close() // there is no such path
	}
	mu.Lock()
	defer mu.Unlock()
	if len(asked) < 3 {
		t.Fatalf("%d requests, want 3 or more", len(asked))
	}
	for _, s := range asked {
		if strings.Contains(s, "gzip") {
			t.Errorf("a request takes %q", s)
		}
	}
}
