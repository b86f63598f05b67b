package webconfig

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/internal/access"
)

func basic(name, password string) func(*http.Request) {
	return func(r *http.Request) { r.SetBasicAuth(name, password) }
}

func header(values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header["Authorization"] = values }
}

func TestIdentify(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	known := a.Leaf(t, "agent", webconfigtest.Leaf{SAN: "agent.example.com"})
	other := a.Leaf(t, "other", webconfigtest.Leaf{})
	old := a.Leaf(t, "old", webconfigtest.Leaf{CN: "agent", Expires: time.Now().Add(-time.Hour)})
	k := opened(t, a, fmt.Sprintf(`
tls_server_config: {cert_file: server.crt, key_file: server.key, client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.crt}
basic_auth_users: {alice: %q, bob: %q}
rondo:
  users: {alice: {role: admin}, agent: {role: write, prefixes: [collectd/web]}}
  tokens:
    - {name: telegraf, role: write, sha256: %s, prefixes: [influx]}
    - {name: past, role: admin, sha256: %s, expires: 2020-01-01}
    - {name: future, role: read, sha256: %s, expires: "2999-01-01T00:00:00Z"}
  client_certificates: [{san: agent.example.com, user: agent}, {cn: agent, user: agent}]
  listeners: {http: {role: write}}
`, hashOf(t, "wonder"), hashOf(t, "build"), HashToken("t-1"), HashToken("t-2"), HashToken("t-3")))
	verified := func(c *x509.Certificate) func(*http.Request) {
		return func(r *http.Request) {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{c}, VerifiedChains: [][]*x509.Certificate{{c, a.Cert}}}
		}
	}
	for _, tt := range []struct {
		name string
		set  func(*http.Request)
		user string
		role access.Role
		err  error
	}{
		{"none", func(*http.Request) {}, "", 0, ErrNobody},
		{"password", basic("alice", "wonder"), "alice", access.Write, nil}, // the most at the listener
		{"password of a user without a role", basic("bob", "build"), "bob", access.Read, nil},
		{"wrong password", basic("alice", "build"), "", 0, ErrWrong},
		{"empty password", basic("alice", ""), "", 0, ErrWrong},
		{"wrong user", basic("mallory", "wonder"), "", 0, ErrWrong},
		{"wrong user with another's password", basic("Alice", "wonder"), "", 0, ErrWrong},
		{"user without a password", basic("agent", ""), "", 0, ErrWrong},
		{"not base64", header("Basic !!!"), "", 0, ErrWrong},
		{"token", header("Bearer t-1"), "telegraf", access.Write, nil},
		{"token as InfluxDB's clients send it", header("Token t-1"), "telegraf", access.Write, nil},
		{"token with time left", header("bearer t-3"), "future", access.Read, nil},
		{"expired token", header("Bearer t-2"), "", 0, ErrWrong},
		{"wrong token", header("Bearer t-4"), "", 0, ErrWrong},
		{"hash of a token", header("Bearer " + HashToken("t-1")), "", 0, ErrWrong},
		{"empty token", header("Bearer "), "", 0, ErrWrong},
		{"two headers", header("Bearer t-1", "Bearer t-3"), "", 0, ErrWrong},
		{"unknown scheme", header("Digest t-1"), "", 0, ErrWrong},
		{"no scheme", header("t-1"), "", 0, ErrWrong},
		{"certificate", verified(known), "agent", access.Write, nil},
		{"certificate of nobody", verified(other), "", 0, ErrNobody},
		{"certificate that has expired since", verified(old), "", 0, ErrNobody},
		{"certificate that was not verified", func(r *http.Request) {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{known}}
		}, "", 0, ErrNobody},
		{"certificate and a wrong token", func(r *http.Request) { verified(known)(r); header("Bearer x")(r) }, "", 0, ErrWrong},
		{"certificate and a token", func(r *http.Request) { verified(known)(r); header("Bearer t-3")(r) }, "future", access.Read, nil},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		tt.set(r)
		u, err := k.Identify(r, tt.name, "")
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.err)
		}
		if err == nil && (u.Name != tt.user || u.Role != tt.role) {
			t.Errorf("%s: got %+v, want %s as %s", tt.name, u, tt.user, tt.role)
		}
	}
	if c := k.Challenges(); len(c) != 2 || !strings.HasPrefix(c[0], "Basic ") || !strings.HasPrefix(c[1], "Bearer ") {
		t.Errorf("challenges %q", c)
	}
	if !k.Secured() {
		t.Error("a file with users is not secured")
	}
}

// counted counts the passwords that a checker compares.
func counted(k *Keeper) *int {
	n, compare := new(int), k.checker.compare
	k.checker.compare = func(hash, password []byte) error {
		*n++ // one at a time
		return compare(hash, password)
	}
	return n
}

func TestPasswordsAreComparedOnce(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	k := opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "wonder")+"}\n")
	n := counted(k)
	try := func(client, password string) error {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("alice", password)
		_, err := k.Identify(r, client, "")
		return err
	}
	var running sync.WaitGroup
	for range clientPlaces {
		running.Go(func() {
			if err := try("a", "wonder"); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for range 100 {
		if try("b", "wonder") != nil || !errors.Is(try("c", "wrong"), ErrWrong) {
			t.Fatal("the result changes")
		}
	}
	if *n != 2 {
		t.Errorf("two passwords were compared %d times", *n)
	}
	a.Write(t, "web.yml", "basic_auth_users: {alice: "+hashOf(t, "other")+"}\n")
	if err := k.Refresh(); err != nil {
		t.Fatal(err)
	}
	if err := try("a", "wonder"); !errors.Is(err, ErrWrong) {
		t.Errorf("the old password: %v", err)
	}
	if err := try("a", "other"); err != nil {
		t.Errorf("the new password: %v", err)
	}
}

// TestFloodOfPasswordsIsBounded: one client may try ten wrong passwords and then one a second; who
// knows the password is let in meanwhile, and what is remembered stays bounded.
func TestFloodOfPasswordsIsBounded(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	k := opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "wonder")+"}\n")
	now := time.Unix(1_700_000_000, 0)
	k.now = func() time.Time { return now }
	n := counted(k)
	try := func(client, password string) error {
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth("alice", password)
		_, err := k.Identify(r, client, "")
		return err
	}
	for i := range 500 {
		want := ErrWrong
		if i >= tries {
			want = ErrTries
		}
		if err := try("mallory", fmt.Sprint("guess ", i)); !errors.Is(err, want) {
			t.Fatalf("guess %d: %v, want %v", i, err, want)
		}
	}
	if *n != tries {
		t.Errorf("%d passwords were compared, want %d", *n, tries)
	}
	if err := try("alice", "wonder"); err != nil {
		t.Errorf("alice is kept out: %v", err)
	}
	if err := try("mallory", "wonder"); err != nil { // it is remembered, and costs nothing
		t.Errorf("alice from the same address is kept out: %v", err)
	}
	now = now.Add(3 * tryEvery)
	for i := range 10 {
		_ = try("mallory", fmt.Sprint("later ", i)) // only the count matters
	}
	if *n != tries+1+3 {
		t.Errorf("%d passwords were compared, want 3 more in 3 seconds", *n-tries-1)
	}
	k.checker.compare = func([]byte, []byte) error { return errors.New("wrong") }
	for i := range 4 * maxResults {
		_ = try(fmt.Sprint("client ", i), "guess")
		_ = try(fmt.Sprint("client ", i), fmt.Sprint("guess of ", i))
	}
	c := k.checker
	if len(c.wrong) > maxResults || len(c.right) > maxResults {
		t.Errorf("%d wrong and %d right passwords are remembered", len(c.wrong), len(c.right))
	}
	if err := try("alice", "wonder"); err != nil {
		t.Errorf("alice is forgotten among the wrong ones: %v", err)
	}
}

// TestOnePasswordAtATime: however many requests come at once, one password is compared at a time,
// and the others wait, a bounded number of them.
func TestOnePasswordAtATime(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	k := opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "wonder")+"}\n")
	k.checker.patience = time.Hour
	entered, release := make(chan struct{}, 1000), make(chan struct{})
	k.checker.compare = func([]byte, []byte) error {
		entered <- struct{}{}
		<-release
		return errors.New("wrong")
	}
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 200)
	for i := range 200 {
		go func() {
			r := httptest.NewRequest("GET", "/", nil).WithContext(ctx)
			r.SetBasicAuth("alice", fmt.Sprint("guess ", i))
			_, err := k.Identify(r, fmt.Sprint("client ", i%20), "")
			results <- err
		}()
	}
	<-entered
	for range 200 - checkPlaces {
		if err := <-results; !errors.Is(err, ErrTries) {
			t.Errorf("a request beyond the places: %v", err)
		}
	}
	select {
	case <-entered:
		t.Error("two passwords are compared at once")
	default:
	}
	cancel() // those that wait go away
	for range checkPlaces - 1 {
		if err := <-results; err == nil {
			t.Error("a wrong password is taken")
		}
	}
	close(release)
	if err := <-results; !errors.Is(err, ErrWrong) {
		t.Errorf("the one whose password was compared: %v", err)
	}
}

// TestRefusedPasswordsTakeAsLong: the time of a refused password showed which names there are,
// where hashes have different costs.
func TestRefusedPasswordsTakeAsLong(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	var text strings.Builder
	text.WriteString("basic_auth_users:\n")
	for cost := 4; cost <= 7; cost++ {
		hash, err := bcrypt.GenerateFromPassword([]byte("right"), cost)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "  user%d: %s\n", cost, hash)
	}
	k := opened(t, a, text.String())
	compare, work := k.checker.compare, 0
	k.checker.compare = func(hash, password []byte) error {
		cost, err := bcrypt.Cost(hash)
		if err != nil {
			t.Errorf("%q: %v", hash, err)
		}
		work += 1 << cost
		return compare(hash, password)
	}
	for i, name := range []string{"user4", "user5", "user6", "user7", "absent", "another", ""} {
		work = 0
		r := httptest.NewRequest("GET", "/", nil)
		r.SetBasicAuth(name, "wrong")
		if _, err := k.Identify(r, fmt.Sprint("client ", i), ""); !errors.Is(err, ErrWrong) {
			t.Errorf("%q: %v", name, err)
		}
		if work != 1<<7 {
			t.Errorf("%q: a wrong password costs %d, want %d", name, work, 1<<7)
		}
	}
	work = 0
	r := httptest.NewRequest("GET", "/", nil)
	r.SetBasicAuth("user4", "right")
	if _, err := k.Identify(r, "a", ""); err != nil || work != 1<<4 {
		t.Errorf("the right password costs %d, %v", work, err)
	}
}

func TestRateLimit(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	k := opened(t, a, "rate_limit: {interval: 1s, burst: 3}\n")
	now := time.Unix(1_700_000_000, 0)
	k.now = func() time.Time { return now }
	ask := func() error {
		_, err := k.Identify(httptest.NewRequest("GET", "/", nil), "a", "")
		return err
	}
	for i := range 5 {
		if err := ask(); (err == nil) != (i < 3) || err != nil && !errors.Is(err, ErrRate) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
	now = now.Add(2 * time.Second)
	for i := range 3 {
		if err := ask(); (err == nil) != (i < 2) {
			t.Errorf("two seconds later, request %d: %v", i+1, err)
		}
	}
}

// TestChangedFilesAreReadAgain: the file, the certificate and the authority are read again when
// they change. A mistake keeps the old ones, and is reported until it is mended.
func TestChangedFilesAreReadAgain(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{CN: "first"})
	const section = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
	var log bytes.Buffer
	k, err := Open(a.Write(t, "web.yml", section+"basic_auth_users: {alice: "+hashOf(t, "wonder")+"}\n"), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_700_000_000, 0)
	k.now = func() time.Time { return now }
	subject := func() string {
		t.Helper()
		now = now.Add(lookEvery)
		c, err := k.TLS("h2", "http/1.1").GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		leaf, err := x509.ParseCertificate(c.Certificates[0].Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		return leaf.Subject.CommonName
	}
	if got := subject(); got != "first" {
		t.Fatalf("certificate of %q", got)
	}
	was := k.Config()
	if now = now.Add(lookEvery); k.Config() != was {
		t.Error("unchanged files were read again")
	}
	a.Leaf(t, "server", webconfigtest.Leaf{CN: "second"})
	if got := subject(); got != "second" {
		t.Errorf("the certificate is of %q after its file has changed", got)
	}
	for _, wrong := range []string{"basic_auth_users: {alice: hunter2}\n", "no: such\n", "\x00", section + "x"} {
		a.Write(t, "web.yml", wrong)
		if err := k.Refresh(); err == nil {
			t.Errorf("%q is taken", wrong)
		}
		if k.Err() == nil || len(k.Config().passwords) != 1 || subject() != "second" {
			t.Errorf("%q: the old configuration is lost, or the mistake is not told", wrong)
		}
	}
	a.Write(t, "web.yml", section+"http_server_config: {http2: false}\nrondo: {anonymous: none}\n")
	if err := k.Refresh(); err != nil || k.Err() != nil || len(k.Config().passwords) != 0 {
		t.Errorf("the mended file: %v", err)
	}
	if c, err := k.TLS("h2", "http/1.1").GetConfigForClient(nil); err != nil || !slices.Equal(c.NextProtos, []string{"http/1.1"}) {
		t.Errorf("without http2 the protocols are %v, %v", c.NextProtos, err)
	}
	a.Write(t, "server.key", "half a ke")
	if err := k.Refresh(); err == nil || subject() != "second" {
		t.Errorf("half a key: %v", err)
	}
	a.Leaf(t, "server", webconfigtest.Leaf{CN: "third"})
	if got := subject(); got != "third" || k.Err() != nil {
		t.Errorf("the mended key: %q, %v", got, k.Err())
	}
	a.Write(t, "web.yml", "rondo: {anonymous: none}\n")
	if err := k.Refresh(); err != nil || !k.HasTLS() || !strings.Contains(log.String(), "needs a restart") {
		t.Errorf("TLS was taken out: %v, still on %v\n%s", err, k.HasTLS(), &log)
	}
	if text := log.String(); strings.Contains(text, "hunter2") || strings.Contains(text, "wonder") || strings.Contains(text, "$2a$") {
		t.Errorf("the log has a secret:\n%s", text)
	}
}
