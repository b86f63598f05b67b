package servertest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig/webconfigtest"
)

// TestEmptiedWebConfigOpensNothing: within a second everybody was an admin, and neither log nor
// status page said so.
func TestEmptiedWebConfigOpensNothing(t *testing.T) {
	t.Parallel()
	r, a := startSecured(t, server.Config{})
	c, url := secureClient(t, a, "", false), "https://"+r.HTTP.String()
	tls, _, _ := strings.Cut(guarded(t), "http_server_config")
	for _, text := range []string{"", "rondo: {anonymous: admin}\n", tls} {
		a.Write(t, "web.yml", text)
		eventually(t, "the status tells of the file "+text, func() bool {
			code, status, _ := ask(t, c, "POST", url+"/rondo.v1.Rondo/Status", "{}", "Authorization", "Bearer admin")
			if code != 200 {
				t.Fatalf("%q: an admin gets %d %s", text, code, status)
			}
			return strings.Contains(status, `"web_config"`)
		})
		for _, path := range []string{"/metrics", "/rondo.v1.Rondo/Checkpoint"} {
			if code, _, _ := ask(t, c, "POST", url+path, "{}"); code != 401 {
				t.Errorf("%q: %s without credentials: %d", text, path, code)
			}
		}
		a.Write(t, "web.yml", guarded(t)+"# mended\n")
		eventually(t, "the mended file is taken", func() bool {
			_, status, _ := ask(t, c, "POST", url+"/rondo.v1.Rondo/Status", "{}", "Authorization", "Bearer admin")
			return !strings.Contains(status, `"web_config"`)
		})
	}
	if n := strings.Count(r.log.String(), "web configuration not taken"); n != 3 {
		t.Errorf("%d lines of the log say that a file was not taken\n%s", n, r.log)
	}
}

// TestOpenWebConfigIsTold: a server whose web configuration asks nobody says so in its log and on
// its status page. One that names nobody does not start.
func TestOpenWebConfigIsTold(t *testing.T) {
	a := webconfigtest.New(t, "rondo tests")
	a.Leaf(t, "server", webconfigtest.Leaf{})
	r := start(t, server.Config{HTTP: anyPorts, WebConfig: a.Write(t, "web.yml", "tls_server_config: {cert_file: server.crt, key_file: server.key}\n")})
	if !strings.Contains(r.log.String(), `level=WARN msg="the web configuration asks nobody for credentials`) {
		t.Errorf("the log does not say so:\n%s", r.log)
	}
	c := secureClient(t, a, "", false)
	if code, status, _ := ask(t, c, "POST", "https://"+r.HTTP.String()+"/rondo.v1.Rondo/Status", "{}"); code != 200 || !strings.Contains(status, `"web_open"`) {
		t.Errorf("the status does not say so: %d %s", code, status)
	}
	err := server.Run(t.Context(), server.Config{DB: filepath.Join(t.TempDir(), "db"), HTTP: anyPorts, WebConfig: a.Write(t, "empty.yml", "")})
	if err == nil || !strings.Contains(err.Error(), "rondo: {anonymous: admin}") {
		t.Errorf("with an empty file: %v", err)
	}
}
