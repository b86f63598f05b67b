package webconfig

import (
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
	"github.com/rondo-db/rondo/internal/access"
)

// hashOf returns a cheap bcrypt hash.
func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// opened opens a file of a text.
func opened(t *testing.T, a *webconfigtest.Authority, text string) *Keeper {
	t.Helper()
	k, err := Open(a.Write(t, "web.yml", text), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestMistakesNameTheirPlace(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	hash := hashOf(t, "x")
	sum := HashToken("x")
	tlsOK := "tls_server_config: {cert_file: server.crt, key_file: server.key"
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "tls_server_config:\n  cert_file: server.crt\n  key_fil: server.key\n", "line 3: the key key_fil is unknown here"},
		{"unknown section", "basic_auth_user:\n  a: b\n", "line 1: the key basic_auth_user is unknown here"},
		{"unknown key of rondo", "rondo:\n  user: {}\n", "line 2: the key user is unknown here"},
		{"unknown key of a user", "rondo:\n  users:\n    a: {roles: read}\n", "line 3: the key roles is unknown here"},
		{"twice", "basic_auth_users: {}\nbasic_auth_users: {}\n", "line 2: mapping key"},
		{"no YAML", "a: [", "line 1"},
		{"another type", "basic_auth_users: secretpassword\n", "line 1: a value of another type"},
		{"two documents", "{}\n---\n{}\n", "second document"},
		{"no key", "tls_server_config: {cert_file: server.crt}\n", "want cert_file and key_file"},
		{"no file", "tls_server_config: {cert_file: missing.crt, key_file: server.key}\n", "cert_file: open"},
		{"two certificates", tlsOK + ", cert: x}\n", "cert and cert_file are given"},
		{"no certificate", "tls_server_config: {cert_file: server.key, key_file: server.crt}\n", "cert and key"},
		{"version", tlsOK + ", min_version: TLS9}\n", `min_version "TLS9"`},
		{"versions", tlsOK + ", min_version: TLS13, max_version: TLS12}\n", "min_version is above"},
		{"cipher suite", tlsOK + ", cipher_suites: [TLS_RSA_WITH_RC4_128_SHA]}\n", "is unknown, or is not safe"},
		{"curve", tlsOK + ", curve_preferences: [P1]}\n", "curve_preferences"},
		{"auth type", tlsOK + ", client_auth_type: Always}\n", "client_auth_type"},
		{"CA without auth type", tlsOK + ", client_ca_file: ca.crt}\n", "would not be asked for"},
		{"auth type without CA", tlsOK + ", client_auth_type: RequireAndVerifyClientCert}\n", "needs client_ca_file"},
		{"no CA", tlsOK + ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: server.key}\n", "no certificate in PEM"},
		{"header", "http_server_config: {headers: {X-Powered-By: x}}\n", "X-Powered-By cannot be set"},
		{"header value", "http_server_config: {headers: {X-Frame-Options: allow}}\n", "must be one of deny, sameorigin"},
		{"header injection", "http_server_config: {headers: {X-XSS-Protection: \"a\\r\\nb\"}}\n", "line end"},
		{"no hash", "basic_auth_users: {alice: secret}\n", "the value of alice is no bcrypt hash"},
		{"dear hash", "basic_auth_users: {alice: $2y$31$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze}\n", "has the cost 31"},
		{"name with a colon", "basic_auth_users: {\"a:b\": " + hash + "}\n", "is no name"},
		{"role", "rondo: {users: {a: {role: root}}}\n", `there is no role "root"`},
		{"no role", "rondo: {users: {a: {prefixes: [x]}}}\n", `there is no role ""`},
		{"prefix", "rondo: {users: {a: {role: read, prefixes: [\"../x\"]}}}\n", "is no folder of series"},
		{"token", "rondo: {tokens: [{name: a, role: read, sha256: secret}]}\n", "is not 64 hexadecimal digits"},
		{"token twice", "rondo: {tokens: [{name: a, role: read, sha256: " + sum + "}, {name: b, role: read, sha256: " + sum + "}]}\n", "b has the token of a"},
		{"token without a name", "rondo: {tokens: [{role: read, sha256: " + sum + "}]}\n", "a name is missing"},
		{"expiry", "rondo: {tokens: [{name: a, role: read, sha256: " + sum + ", expires: soon}]}\n", `expires "soon"`},
		{"certificate without verification", tlsOK + "}\nrondo: {users: {a: {role: read}}, client_certificates: [{cn: a, user: a}]}\n", "must have client_ca_file"},
		{"certificate of nobody", tlsOK + ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.crt}\nrondo: {client_certificates: [{cn: a, user: a}]}\n", `no user "a"`},
		{"certificate by two names", tlsOK + ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: ca.crt}\nrondo: {users: {a: {role: read}}, client_certificates: [{cn: a, san: b, user: a}]}\n", "either cn or san"},
		{"anonymous", "rondo: {anonymous: everybody}\n", `anonymous: there is no role "everybody"`},
		{"listener of HTTP", "rondo: {listeners: {http: {auth: required}}}\n", "has neither tls nor auth"},
		{"listener without TLS", "rondo: {listeners: {rrdcached: {tls: true}}}\n", "no tls_server_config"},
		{"listener without tokens", "rondo: {listeners: {rrdcached: {auth: required}}}\n", "there are no tokens"},
		{"listener's auth", "rondo: {listeners: {rrdcached: {auth: perhaps}}}\n", "want none or required"},
		{"listener's role", "rondo: {listeners: {rrdcached: {role: perhaps}}}\n", "there is no role"},
		{"rate", "rate_limit: {interval: 1s}\n", "burst of 1 or more"},
	} {
		err := Check(a.Write(t, "web.yml", tt.text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		} else if strings.Contains(err.Error(), "secretpassword") || strings.Contains(err.Error(), "webconfig.") {
			t.Errorf("%s: the error shows what it should not: %v", tt.name, err)
		}
	}
}

// TestFilesOfOtherPrograms: a file of an exporter means what it means there.
func TestFilesOfOtherPrograms(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	for _, text := range []string{
		"basic_auth_users:\n  alice: $2y$10$mDwo.lAisC94iLAyP81MCesa29IzH37oigHC/42V2pdJlUprsJPze\n",
		`tls_server_config:
  cert_file: server.crt
  key_file: server.key
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [example.com, 127.0.0.1]
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: true
  curve_preferences: [CurveP256, X25519]
http_server_config:
  http2: true
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=1
rate_limit: {interval: 1s, burst: 20}
`,
	} {
		if err := Check(a.Write(t, "web.yml", text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	k := opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "x")+"}\n")
	if u := k.Config().users["alice"]; u.Role != access.Admin || u.Limited() {
		t.Errorf("without a section rondo alice is %+v", u)
	}
	k = opened(t, a, "basic_auth_users: {alice: "+hashOf(t, "x")+"}\nrondo: {users: {}}\n")
	if u := k.Config().users["alice"]; u.Role != access.Read {
		t.Errorf("alice, who is not among the users, is %+v", u)
	}
}
