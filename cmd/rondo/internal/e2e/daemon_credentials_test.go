package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
)

// seriesOfServer are the server's own series in a list.
var seriesOfServer = regexp.MustCompile(`(?m)^rondo/.*\n`)

// asked runs rondo with an environment of its own and returns all that it prints.
func asked(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("rondo", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir, "TZ=UTC", "LC_ALL=C"}, env...)
	cmd.Stdin = strings.NewReader("list\n")
	out, err := cmd.CombinedOutput()
	text := seriesOfServer.ReplaceAllString(string(out), "")
	if err != nil {
		return "!" + text
	}
	return text
}

// webServer starts a server with TLS, the user alice who may read, the token admin-token, and the
// client certificate of agent, who may write.
func webServer(t *testing.T, ca *webconfigtest.Authority, cert string) *rondotest.Daemon {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte("secret word"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	web := ca.Write(t, cert+".yml", fmt.Sprintf(`tls_server_config: {cert_file: %[1]s.crt, key_file: %[1]s.key, client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.crt}
basic_auth_users: {alice: %[2]q}
rondo:
  users: {alice: {role: read}, agent: {role: write}}
  tokens: [{name: ops, role: admin, sha256: %[3]q}]
  client_certificates: [{cn: agent, user: agent}]
`, cert, hash, webconfig.HashToken("admin-token")))
	return rondotest.Serve(t, filepath.Join(t.TempDir(), "db"), "--web-config", web)
}

// TestDaemonCredentials: a command says who it is by a password, a token or a certificate, from a
// file, a variable or the configuration file, and gets words for what is wrong with that.
func TestDaemonCredentials(t *testing.T) {
	t.Parallel()
	ca := webconfigtest.New(t, "authority")
	ca.Leaf(t, "server", webconfigtest.Leaf{})
	ca.Leaf(t, "old", webconfigtest.Leaf{Expires: time.Now().Add(-time.Hour)})
	ca.Leaf(t, "agent", webconfigtest.Leaf{})
	other := webconfigtest.New(t, "another authority")
	at := webServer(t, ca, "server").Listens["http"]
	old := webServer(t, ca, "old").Listens["http"]
	plain := rondotest.Serve(t, filepath.Join(t.TempDir(), "db"))
	cached := answersLines(t)
	ours := filepath.Join(ca.Dir, "ca.crt")
	password, token := ca.Write(t, "password", "secret word\r\nmore\n"), ca.Write(t, "token", "admin-token\n")
	config := ca.Write(t, "rondo.yaml", "daemon: https://"+at+"\ndaemon-token-file: token\ndaemon-ca: ca.crt\n")
	pair := filepath.Join(ca.Dir, "agent.crt") + "," + filepath.Join(ca.Dir, "agent.key")
	closed := closedPort(t)
	const create = "create a DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10"
	for _, tt := range []struct{ env, args, want string }{
		{"", "--daemon https://" + at + " list", "!ERROR: https://" + at + ": the server's certificate is signed by nobody whom this machine knows"},
		{"", "--daemon https://" + at + " -", "!ERROR: https://" + at + ": the server's certificate is signed by nobody whom this machine knows"},
		{"RONDO_DAEMON_CA=" + filepath.Join(other.Dir, "ca.crt"), "--daemon https://" + at + " show a", "!ERROR: https://" + at + ": the server's certificate is signed by nobody whom this machine knows"},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://" + old + " list", "the server's certificate has expired, at "},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://localhost" + at[strings.LastIndexByte(at, ':'):] + " list", "the server's certificate is for another name: "},
		{"", "--daemon http://" + at + " list", "the server speaks TLS there: https:// is its address"},
		{"", "--daemon http://" + at + " -", "the server speaks TLS there: https:// is its address"},
		{"", "--daemon https://" + plain.Listens["http"] + " list", "the server speaks no TLS there: is it http:// instead?"},
		{"", "--daemon https://" + plain.Listens["http"] + " -", "the server speaks no TLS there: is it http:// instead?"},
		{"", "--daemon http://" + cached + " list", "speaks no HTTP. A server of rrdcached's protocol is named without http://"},
		{"", "--daemon http://" + cached + " -", "speaks no HTTP. A server of rrdcached's protocol is named without http://"},
		{"", "--daemon http://" + closed + " list", "!ERROR: http://" + closed + ": connection refused: no server listens there\n"},
		{"", "--daemon http://" + closed + " query 1", "!ERROR: http://" + closed + ": connection refused: no server listens there\n"},
		{"", "--daemon ftp://" + closed + " list", "is no address of a server: want http://HOST:PORT"},
		{"", "--daemon http://u:secret%zz@h list", "!ERROR: the address of the server is no URL"},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://" + at + " list", "!ERROR: say who you are: this server needs a password, a token or a certificate\nA user is named by --daemon https://USER@HOST"},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://" + at + " -", "!ERROR: https://" + at + ": the server answers 401 Unauthorized: say who you are"},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://alice@" + at + " list", "!ERROR: the user alice has no password: RONDO_DAEMON_PASSWORD"},
		{"RONDO_DAEMON_PASSWORD=wrong RONDO_DAEMON_CA=" + ours, "--daemon https://alice@" + at + " list", "!ERROR: the user, the password or the token is wrong, or has expired\n"},
		{"RONDO_DAEMON_TOKEN=wrong RONDO_DAEMON_CA=" + ours, "--daemon https://" + at + " list", "!ERROR: the user, the password or the token is wrong, or has expired\n"},
		{"RONDO_DAEMON_CA=" + ours, "--daemon-password-file " + password + " --daemon https://alice@" + at + " " + create, `!ERROR: permission denied: this needs the role write, and the user "alice" has the role read`},
		{"RONDO_DAEMON_CA=" + ours, "--daemon-password-file " + password + " --daemon https://alice@" + at + " drop a", `!ERROR: there is no series 'a'`},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://" + at + " --daemon-tls " + pair + " " + create, ""},
		{"RONDO_DAEMON_CA=" + ours + " RONDO_DAEMON_TLS=" + pair, "--daemon https://" + at + " drop a", `!0 series deleted`},
		{"RONDO_DAEMON_CA=" + ours + " RONDO_DAEMON_TLS=" + pair, "--daemon https://" + at + " drop a", `this needs the role admin, and the user "agent" has the role write`},
		{"RONDO_DAEMON_CA=" + ours + " RONDO_DAEMON_PASSWORD_FILE=" + password + " RONDO_DAEMON=https://alice@" + at, "list", "a\n"},
		{"RONDO_DAEMON_CA=" + ours + " RONDO_DAEMON_PASSWORD_FILE=" + password + " RONDO_DAEMON=https://alice@" + at, "-", "a\nOK"},
		{"RONDO_DAEMON_CA=" + ours + " RONDO_DAEMON_TOKEN_FILE=" + token, "list --daemon https://" + at, "a\n"},
		{"RONDO_DAEMON_CA=" + ours, "--daemon https://alice:secret%20word@" + at + " list", "a\n"},
		{"RONDO_DAEMON_CA=" + ours + " RONDO_DAEMON_TOKEN_FILE=" + filepath.Join(ca.Dir, "none"), "--daemon https://" + at + " list", "!ERROR: the token: open "},
		{"RONDO_CONFIG=" + config, "list", "a\n"},
		{"RONDO_CONFIG=" + config, "rrdtool list /", "a\n"},
		{"RONDO_CONFIG=" + config, "drop a", "1 series deleted\n"},
		{"RONDO_CONFIG=" + config, "wal dump", "!ERROR: wal works on the files of a database, not through --daemon"},
		{"RONDO_CONFIG=" + config, "check --repair", "!ERROR: check --repair works on the files of a database, not through --daemon"},
		{"RONDO_CONFIG=" + config, "compact", "!ERROR: compact works on the files of a database, not through --daemon"},
		{"RONDO_CONFIG=" + config, "restore-backup x", "!ERROR: restore-backup works on the files of a database, not through --daemon"},
	} {
		if got := asked(t, strings.Fields(tt.env), strings.Fields(tt.args)...); tt.want == "" && got != "" || !strings.Contains(got, strings.TrimPrefix(tt.want, "!")) || strings.HasPrefix(tt.want, "!") != strings.HasPrefix(got, "!") && strings.HasPrefix(tt.want, "!") {
			t.Errorf("%s rondo %s: %q, want %q", tt.env, tt.args, got, tt.want)
		}
	}
}

// answersLines returns an address that answers each connection as rrdcached answers a command that
// it does not know.
func answersLines(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() }) // the test is over
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 1))
			_, _ = c.Write([]byte("-1 Unknown command: POST\n")) // the test notices
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// closedPort returns an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// TestCredentialsGoNowhereElse: the token in the configuration file is for the server that the file
// names. Neither another --daemon gets it, nor a server to which an answer redirects.
func TestCredentialsGoNowhereElse(t *testing.T) {
	var sent, redirected atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			sent.Add(1)
		}
		http.Error(w, "nothing here", http.StatusNotFound)
	}))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer the-token" {
			redirected.Add(1)
		}
		_, _ = io.Copy(io.Discard, r.Body) // so that the answer is read
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	dir := t.TempDir()
	for name, text := range map[string]string{"rondo.yaml": "daemon: " + first.URL + "\ndaemon-token-file: token\n", "token": "the-token\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"RONDO_CONFIG=" + filepath.Join(dir, "rondo.yaml")}
	var all bytes.Buffer
	for _, args := range []string{"--daemon " + other.URL + " list", "--daemon " + other.URL + " -", "--daemon " + other.URL + " show a", "list", "-", "show a", "query 1"} {
		all.WriteString(asked(t, env, strings.Fields(args)...))
	}
	if sent.Load() > 0 || redirected.Load() < 4 {
		t.Errorf("the token went to another server %d times, and to its own %d times, want 4 and more\n%s", sent.Load(), redirected.Load(), &all)
	}
	if !strings.Contains(all.String(), "it is an older rondo, or another program") {
		t.Errorf("a program that is no rondo is not told: %s", &all)
	}
}
