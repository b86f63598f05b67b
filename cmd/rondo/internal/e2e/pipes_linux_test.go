package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestPipesInPlaceOfFilesStopNothing: files that a running server reads again are replaced by pipes
// that nobody writes to. Requests, the reload and the end of the server waited for a writer.
func TestPipesInPlaceOfFilesStopNothing(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"rondo.yaml": "{}\n",
		"web.yml":    "basic_auth_users: {u: $2a$04$TmM2vSq5chS8Mbw/XP5IKegJRgR2o5QLVQXu7h9Ru5mXxA9Im8Fka}\n",
		"rules.yml":  "groups: []\n",
		"users":      "alice: secret\n",
		"types.db":   "x value:GAUGE:U:U\n",
		"schemas":    "[all]\npattern = .*\nretentions = 1m:1h\n",
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range files {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("rondo", "serve", "--db", at("db"), "--http", "127.0.0.1:0", "--gmetric", "", "--rrdcached", "", "--config", at("rondo.yaml"), "--web-config", at("web.yml"), "--rule-file", at("rules.yml"),
		"--collectd", "127.0.0.1:0", "--collectd-auth-file", at("users"), "--collectd-typesdb", at("types.db"), "--graphite", "127.0.0.1:0", "--graphite-schemas", at("schemas"))
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	log := follow(logs)
	rondotest.WaitFor(t, "the server is ready", func() bool { return strings.Contains(log(), "msg=ready") })
	port := ""
	for _, m := range rondotest.Listening.FindAllStringSubmatch(log(), -1) {
		if m[1] == "http" {
			port = m[2]
		}
	}
	for name := range files {
		if err := os.Remove(at(name)); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(at(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hup := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	rondotest.WaitFor(t, "the log names the configuration and the file of users", func() bool {
		hup()
		if code := statusOf(t, "http://"+port+"/metrics"); code != 401 {
			t.Fatalf("without credentials: %d", code)
		}
		return strings.Contains(log(), "rondo.yaml: it is no regular file") && strings.Contains(log(), "web.yml: it is no regular file")
	})
	if err := os.Remove(at("rondo.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("rondo.yaml"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hup()
	rondotest.WaitFor(t, "the log names rules and the files of receivers", func() bool {
		log := log()
		return strings.Contains(log, "rules not taken") && strings.Contains(log, "rules.yml: it is no regular file") &&
			strings.Contains(log, "types.db: it is no regular file") && strings.Contains(log, "users: it is no regular file") && strings.Contains(log, "schemas: it is no regular file")
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if state, err := cmd.Process.Wait(); err != nil || !state.Success() {
		t.Errorf("after SIGTERM: %v, %v\n%s", state, err, log())
	}
}

// statusOf returns the status of an answer.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	c := http.Client{Timeout: rondotest.Patience}
	r, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close() // nothing else is wanted
	return r.StatusCode
}
