package webconfig

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/internal/access"
)

// TestFilesThatNameNobodyAreRefused: a file that was emptied or cut off let everybody in as admin.
func TestFilesThatNameNobodyAreRefused(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	const section = "tls_server_config: {cert_file: server.crt, key_file: server.key}\n"
	for _, text := range []string{
		"", " ", "\n\n", "# nothing\n", "---\n", "{}\n", "null\n", "rondo:\n", "rondo: {}\n", "rondo: {listeners: null}\n",
		"basic_auth_users:\n", "basic_auth_users: {}\n", "rondo: {tokens: []}\n", "rondo: {users: {}}\n", "rondo:\n  tokens:\n",
		section + "basic_auth_users:\n", section + "basic_auth_users: {}\nrondo:\n", section + "rondo: {client_certificates: []}\n",
	} {
		if err := Check(a.Write(t, "web.yml", text)); err == nil || !strings.Contains(err.Error(), "rondo: {anonymous: admin}") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		"rondo: {users: {u: {role: admin}}}\n",
		"basic_auth_users: {alice: " + hashOf(t, "x") + "}\nrondo: {users: {alice: {role: read}, u: {role: read}}}\n",
		"rondo: {anonymous: admin, users: {u: {role: read}}}\n",
	} {
		if err := Check(a.Write(t, "web.yml", text)); err == nil || !strings.Contains(err.Error(), "u has no password in basic_auth_users and no certificate") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]access.Role{
		section:                                  access.Admin,
		"rate_limit: {interval: 1s, burst: 3}\n": access.Admin,
		"http_server_config: {headers: {X-Frame-Options: deny}}\n":                      access.Admin,
		"rondo: {anonymous: admin}\n":                                                   access.Admin,
		"rondo: {anonymous: write}\n":                                                   access.Write,
		"basic_auth_users: {}\nrondo: {anonymous: admin}\n":                             access.Admin,
		"rondo: {anonymous: read}\n":                                                    access.Read,
		"basic_auth_users: {alice: " + hashOf(t, "x") + "}\nrondo: {anonymous: read}\n": access.Read,
	} {
		k := opened(t, a, text)
		if u := k.Config().anonymous; u == nil || u.Role != want || k.AsksNobody() != (want > access.Read) || k.Secured() {
			t.Errorf("%s: without credentials %+v, asks nobody %v", text, u, k.AsksNobody())
		}
	}
	if k := opened(t, a, "rondo: {anonymous: none}\n"); !k.Secured() || k.AsksNobody() {
		t.Error("anonymous: none lets requests in")
	}
}

// closedFiles are what a running server has read, and what must not be taken after it.
var closedFiles = []struct{ name, was, now, why string }{
	{"nobody left, in words", "USERS", "rondo: {anonymous: admin}\n", "role admin"},
	{"anonymous added", "USERS", "USERSrondo: {anonymous: read}\n", "role read"},
	{"anonymous raised", "USERSrondo: {anonymous: read}\n", "USERSrondo: {anonymous: write}\n", "role write"},
	{"only TLS left", "TLSUSERS", "TLS", "role admin"},
	{"only headers left", "http_server_config: {http2: true}\nUSERS", "http_server_config: {http2: true}\n", "role admin"},
	{"roles left out", "USERSrondo: {users: {alice: {role: read}}}\n", "USERS", "entry of alice in users is missing"},
	{"folders left out", "USERSrondo: {users: {alice: {role: read, prefixes: [a]}, bob: {role: read}}}\n", "USERSrondo: {users: {bob: {role: read}}}\n", "entry of alice in users is missing"},
	{"certificates no longer needed", "MTLS", "TLS", "need no certificate"},
	{"names of certificates left out", "SANS", "MTLS", "client_allowed_sans is missing"},
	{"a listener left out", "rondo: {anonymous: admin, listeners: {http: {role: read}}}\n", "rondo: {anonymous: admin}\n", "at http"},
	{"folders of a listener", "rondo: {anonymous: admin, listeners: {\"a:1\": {role: read, prefixes: [a]}}}\n", "rondo: {anonymous: admin, listeners: {\"a:1\": {role: read}}}\n", "at a:1"},
	{"an address beside all", "rondo: {anonymous: admin, listeners: {http: {role: read}}}\n", "rondo: {anonymous: admin, listeners: {http: {role: read}, \"a:1\": {role: admin}}}\n", "at a:1"},
	{"rrdcached's AUTH", "TOKENS  listeners: {rrdcached: {auth: required}}\n", "TOKENS", "at rrdcached"},
}

// TestClosedStaysClosed: a file that is read again never opens what was closed. It opened it within
// a second if it was emptied, and the log said only that it had been read.
func TestClosedStaysClosed(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	const mtls = "cert_file: server.crt, key_file: server.key, client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert"
	r := strings.NewReplacer(
		"SANS", "tls_server_config: {"+mtls+", client_allowed_sans: [a]}\n", "MTLS", "tls_server_config: {"+mtls+"}\n",
		"TLS", "tls_server_config: {cert_file: server.crt, key_file: server.key}\n",
		"USERS", "basic_auth_users: {alice: "+hashOf(t, "x")+", bob: "+hashOf(t, "x")+"}\n",
		"TOKENS", "rondo:\n  tokens: [{name: t, role: read, sha256: "+HashToken("t")+"}]\n")
	for _, tt := range closedFiles {
		var log bytes.Buffer
		k, err := Open(a.Write(t, "web.yml", r.Replace(tt.was)), slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		was := k.Config()
		a.Write(t, "web.yml", r.Replace(tt.now))
		if err := k.Refresh(); err == nil || k.Config() != was || k.Err() == nil || !strings.Contains(log.String(), "level=ERROR") {
			t.Errorf("%s: taken, %v", tt.name, err)
		} else if !strings.Contains(err.Error(), tt.why) || !strings.Contains(err.Error(), "restart the server") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.why)
		}
		if err := Check(a.Dir + "/web.yml"); err != nil {
			t.Errorf("%s: after a restart: %v", tt.name, err)
		}
		a.Write(t, "web.yml", r.Replace(tt.was)+"# mended\n")
		if err := k.Refresh(); err != nil || k.Err() != nil {
			t.Errorf("%s: the mended file: %v", tt.name, err)
		}
	}
	k := opened(t, a, r.Replace("TLSUSERS"))
	for _, text := range []string{"", "# \n", "rondo: {}\n", "rondo: {users: {alice: {role: admin}}}\n"} {
		a.Write(t, "web.yml", text)
		if err := k.Refresh(); err == nil || k.Err() == nil || !k.Secured() {
			t.Errorf("%q: taken, %v", text, err)
		}
	}
}

// TestWordsAreTaken: what a file says in words about somebody is taken at once.
func TestWordsAreTaken(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	users := "basic_auth_users: {alice: " + hashOf(t, "x") + ", bob: " + hashOf(t, "x") + "}\n"
	k := opened(t, a, users+"rondo: {anonymous: read, users: {alice: {role: read, prefixes: [a, b]}}, listeners: {http: {role: write}}}\n")
	for _, text := range []string{
		users + "rondo: {users: {alice: {role: admin}}, listeners: {http: {role: read, prefixes: [a]}}}\n",
		users + "rondo: {users: {bob: {role: admin}, alice: {role: write}}, listeners: {http: {role: read, prefixes: [a/b]}}}\n",
		"rondo: {tokens: [{name: t, role: admin, sha256: " + HashToken("t") + "}], listeners: {http: {role: none}}}\n",
	} {
		a.Write(t, "web.yml", text)
		if err := k.Refresh(); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestHangingFilesStopNoRequests: the files are read beside requests, so that a file system that
// hangs stops none. A request waited as long as the file system.
func TestHangingFilesStopNoRequests(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	k := opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "x")+"}\nrondo: {anonymous: read}\nrate_limit: {interval: 1h, burst: 100}\n")
	start := time.Unix(1_700_000_000, 0)
	k.now = func() time.Time { return start }
	k.Look()
	read, hang, hangs := k.read, make(chan struct{}), make(chan struct{})
	k.read = func() (*Config, []stamp, error) { close(hangs); <-hang; return read() }
	a.Write(t, "web.yml", "rondo: {anonymous: none}\n")
	k.now = func() time.Time { return start.Add(lookEvery) }
	ask := func() error {
		_, err := k.Identify(httptest.NewRequest("GET", "/", nil), "a", "")
		return err
	}
	if err := ask(); err != nil { // it waits for a second
		t.Error(err)
	}
	<-hangs
	k.now = func() time.Time { return start.Add(time.Hour) }
	for range 50 {
		if err := ask(); err != nil {
			t.Error(err)
		}
	}
	if err := k.Err(); err == nil || !strings.Contains(err.Error(), "has not answered since") {
		t.Errorf("nothing says that the file system hangs: %v", err)
	}
	close(hang)
	for k.looking.Load() {
		time.Sleep(time.Millisecond)
	}
	if err := ask(); err == nil || k.Err() != nil {
		t.Errorf("after it has answered: %v, %v", err, k.Err())
	}
}

// TestFilesOfOtherKindsAreNotRead: a folder, a device or a link to nothing in place of a file
// changes nothing.
func TestFilesOfOtherKindsAreNotRead(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	for _, make := range []func(name string) error{
		func(name string) error { return os.Mkdir(name, 0o700) },
		func(name string) error { return os.Symlink(os.DevNull, name) },
		func(name string) error { return os.Symlink("nothing", name) },
	} {
		k := opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "x")+"}\n")
		name := a.Dir + "/web.yml"
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if err := make(name); err != nil {
			t.Fatal(err)
		}
		if err := k.Refresh(); err == nil || k.Err() == nil || !k.Secured() {
			t.Errorf("taken: %v", err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}
