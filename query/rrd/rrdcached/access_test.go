package rrdcached_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// serveWithAccess is serve at a TCP port with an Access. With secure it speaks TLS, with the
// certificate of package httptest, for which the pool is.
func serveWithAccess(t *testing.T, d rrdcached.Access, secure bool) (s *served, pool *x509.CertPool) {
	t.Helper()
	s = serve(t, rrdcached.Options{}, 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = l.Addr()
	if secure {
		h := httptest.NewTLSServer(nil)
		h.Close()
		pool = x509.NewCertPool()
		pool.AddCert(h.Certificate())
		l = tls.NewListener(l, &tls.Config{Certificates: h.TLS.Certificates, MinVersion: tls.VersionTLS12})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, d) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s, pool
}

// tokens are the users of tokens, which are their names.
func tokens(token string) (*access.User, error) {
	switch token {
	case "reader":
		return &access.User{Name: token, Role: access.Read}, nil
	case "writer":
		return &access.User{Name: token, Role: access.Write}, nil
	case "tenant":
		return &access.User{Name: token, Role: access.Admin, Folders: []string{"mine"}}, nil
	case "admin":
		return &access.User{Name: token, Role: access.Admin}, nil
	}
	return nil, errors.New("unknown")
}

// TestRefusedUpdatesCountInABatch: updates that a user may not send had no number in their BATCH,
// so that the numbers of it were wrong for each line behind.
func TestRefusedUpdatesCountInABatch(t *testing.T) {
	s, _ := serveWithAccess(t, rrdcached.Access{User: func() *access.User { return nil }, Token: tokens}, false)
	const ahead = "0 Authenticated\n0 Go ahead.  End with dot '.' on its own line.\n"
	for _, user := range []string{"reader", "tenant"} {
		p := dial(t, s.addr)
		p.expect("AUTH "+user+"\nBATCH\nUPDATE a N:1\nUPDATE b N:1\nNOSUCH\nUPDATE c N:1\nCREATE c\n.\nPING\n",
			ahead+"5 errors\n1 Permission denied.\n2 Permission denied.\n3 Unknown command: NOSUCH\n4 Permission denied.\n5 Permission denied.\n0 PONG\n")
	}
}

func TestAuthComesFirst(t *testing.T) {
	s, _ := serveWithAccess(t, rrdcached.Access{User: func() *access.User { return nil }, Token: tokens}, false)
	const needed = "-1 Authentication required: the first line must be AUTH and a token.\n"
	for request, want := range map[string]string{
		"PING\nPING\n":                needed,
		"AUTH\nPING\n":                needed,
		"PING\nAUTH admin\nPING\n":    needed,
		"BATCH\nAUTH admin\n.\n":      needed,
		"AUTH wrong\nPING\n":          "-1 The token is wrong, or has expired.\n",
		"AUTH \nAUTH admin\nPING\n":   needed,
		"AUTH admin\nPING\n":          "0 Authenticated\n0 PONG\n",
		"auth admin \r\nPING\n":       "0 Authenticated\n0 PONG\n",
		"AUTH admin\nAUTH reader\n":   "0 Authenticated\n-1 Unknown command: AUTH\n",
		"AUTH reader\nFLUSHALL\n":     "0 Authenticated\n-1 Permission denied.\n",
		"AUTH reader\nUPDATE a N:1\n": "0 Authenticated\n-1 Permission denied.\n",
	} {
		p := dial(t, s.addr)
		p.expect(request, want)
		if !strings.HasSuffix(want, "PONG\n") && strings.Count(want, "\n") == 1 {
			p.ended()
		}
	}
	open, _ := serveWithAccess(t, rrdcached.Access{User: func() *access.User { return &access.User{Role: access.Read} }, Token: tokens}, false)
	dial(t, open.addr).expect("CREATE a -O"+definition+"\nPING\n", "-1 Permission denied.\n0 PONG\n")
	dial(t, open.addr).expect("AUTH writer\nCREATE a -O"+definition+"\nPING\n", "0 Authenticated\n0 RRD created OK\n0 PONG\n")
}

// TestRolesOfTheProtocol: a reader reads, a writer does not replace series, and a user who is
// limited to folders neither reads nor writes, lists or copies from others.
func TestRolesOfTheProtocol(t *testing.T) {
	s, _ := serveWithAccess(t, rrdcached.Access{User: func() *access.User { return nil }, Token: tokens}, false)
	denied := "-1 Permission denied.\n"
	admin := dial(t, s.addr)
	admin.expect("AUTH admin\nCREATE mine/a"+definition+"\nCREATE other/b"+definition+"\nUPDATE other/b 1000000010:1\n",
		"0 Authenticated\n0 RRD created OK\n0 RRD created OK\n0 errors, enqueued 1 value(s).\n")
	reader := dial(t, s.addr)
	reader.expect("AUTH reader\nLAST other/b\nLIST /\nCREATE c -O"+definition+"\nTUNE other/b -h value:5\nSUSPENDALL\nBATCH\nUPDATE other/b N:1\n.\n",
		"0 Authenticated\n0 1000000010\n2 RRDs\nmine\nother\n"+denied+denied+denied+"0 Go ahead.  End with dot '.' on its own line.\n1 errors\n1 Permission denied.\n")
	writer := dial(t, s.addr)
	writer.expect("AUTH writer\nUPDATE other/b 1000000020:2\nCREATE other/b"+definition+"\nCREATE other/b -s -O"+definition+"\nCREATE other/c -O"+definition+"\nTUNE other/b -h value:5\n",
		"0 Authenticated\n0 errors, enqueued 1 value(s).\n"+denied+denied+"0 RRD created OK\n"+denied)
	tenant := dial(t, s.addr)
	tenant.expect("AUTH tenant\nUPDATE mine/a 1000000010:1\nLIST /mine\nLAST mine/../mine/a\nCREATE mine/c"+definition+"\n",
		"0 Authenticated\n0 errors, enqueued 1 value(s).\n1 RRDs\na\n0 1000000010\n0 RRD created OK\n")
	for _, request := range []string{
		"UPDATE other/b 1000000030:1", "update other/b 1000000030:1", "UPDATE mine/../other/b 1000000030:1", "LAST other/b", "FETCH other/b AVERAGE", "FETCHBIN other/b AVERAGE",
		"INFO other/b", "FIRST other/b 0", "FLUSH other/b", "DUMP other/b", "TUNE other/b -h value:5", "FORGET other/b", "PENDING other/b", "SUSPEND other/b",
		"LIST /", "LIST RECURSIVE /", "LIST /other", "LIST /mine/../other", "LIST RECURSIVE /mine/..", "CREATE other/x" + definition, "CREATE mineral/x" + definition,
		"CREATE mine/x -t other/b", "CREATE mine/x -r other/b" + definition, "FLUSHALL", "STATS", "QUEUE", "SUSPENDALL", "RESUMEALL",
	} {
		p := dial(t, s.addr)
		p.expect("AUTH tenant\n"+request+"\nPING\n", "0 Authenticated\n"+denied+"0 PONG\n")
	}
	admin.expect("LAST other/b\n", "0 1000000020\n")
}

// TestTLS: the protocol over TLS, with many requests at once; a peer without TLS gets no answer.
func TestTLS(t *testing.T) {
	s, pool := serveWithAccess(t, rrdcached.Access{User: func() *access.User { return nil }, Token: tokens}, true)
	c, err := tls.Dial("tcp", s.addr.String(), &tls.Config{RootCAs: pool, ServerName: "example.com"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the test may have
	p := &peer{t, c, bufio.NewReaderSize(c, 1<<16)}
	p.expect("AUTH admin\nCREATE a"+definition+"\n", "0 Authenticated\n0 RRD created OK\n")
	var requests, answers strings.Builder
	for i := range 5000 {
		requests.WriteString("UPDATE a " + strconv.Itoa(1_000_000_010+i) + ":1\n")
		answers.WriteString("0 errors, enqueued 1 value(s).\n")
	}
	go func() { _, _ = c.Write([]byte(requests.String())) }() // expect sees what is missing
	p.expect("", answers.String())
	p.expect("LAST a\n", "0 1000005000\n")
	plain := dial(t, s.addr)
	plain.send("AUTH admin\nPING\n")
	if line := plain.line(); strings.Contains(line, "PONG") || strings.Contains(line, "Authenticated") {
		t.Errorf("without TLS: %q", line)
	}
}
