//go:build !race

package browsertest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A server is a `rondo serve`.
type server struct {
	url     string
	db      string
	listens map[string]string // addresses by what for
}

var listening = regexp.MustCompile(`msg=listening for="?([a-z ]+)"? network=\w+ addr=(\S+)`)

// serve starts a server on a folder. It is killed at the end of all tests.
func serve(t *testing.T, db string, more ...string) *server {
	t.Helper()
	s := &server{db: db, listens: make(map[string]string)}
	cmd := exec.Command(program(t), append([]string{"serve", "--db", db, "--http", "127.0.0.1:0", "--collectd", "127.0.0.1:0", "--gmetric", "", "--rrdcached", ""}, more...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready, done := make(chan bool, 1), make(chan struct{})
	atEnd = append(atEnd, func() {
		_ = cmd.Process.Kill() // it may have ended
		<-done
		_ = cmd.Wait() // killed
	})
	var log bytes.Buffer // read when ready has a value
	go func() {
		defer close(done)
		isReady := false
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if isReady {
				continue
			}
			log.WriteString(lines.Text() + "\n")
			if m := listening.FindStringSubmatch(lines.Text()); m != nil {
				s.listens[m[1]] = m[2]
			}
			if strings.Contains(lines.Text(), "msg=ready") {
				isReady = true
				ready <- true
			}
		}
		if !isReady {
			ready <- false
		}
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("the server did not start:\n%s", log.String())
		}
	case <-time.After(patience):
		t.Fatal("the server does not become ready")
	}
	s.url = "http://" + s.listens["http"]
	return s
}

// once makes a database and serves it, when first asked.
func once(name string, put func(*filling)) func(*testing.T) *server {
	var mu sync.Mutex
	var s *server
	return func(t *testing.T) *server {
		t.Helper()
		chromium(t) // or the test ends here
		mu.Lock()
		defer mu.Unlock()
		if s == nil {
			db := filepath.Join(work, name)
			began := time.Now()
			fill(t, db, put)
			t.Logf("filled the database %s in %v", name, time.Since(began).Round(time.Millisecond))
			s = serve(t, db)
		}
		return s
	}
}

// hosting is the server of most tests.
var hosting = once("house", house)

// call calls the RPC and returns its answer.
func (s *server) call(t *testing.T, method string, message any) map[string]any {
	t.Helper()
	body, err := json.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(s.url+"/rondo.v1.Rondo/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %v: %s", method, r.Status, err, data)
	}
	return answer
}

// write appends a sample by RPC, as any client may.
func (s *server) write(t *testing.T, path string, at int64, values ...float64) {
	t.Helper()
	fields := []string{fmt.Sprint(at)}
	for _, v := range values {
		fields = append(fields, fmt.Sprint(v))
	}
	update := strings.Join(fields, ":")
	answer := s.call(t, "Write", map[string]any{"samples": []any{map[string]any{"path": path, "update": update}}})
	if fmt.Sprint(answer["accepted"]) != "1" {
		t.Fatalf("write %s %s: %v", path, update, answer)
	}
}

// rondo runs a command on the server's folder and returns what it prints.
func (s *server) rondo(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t), args...)
	cmd.Env = append(os.Environ(), "RONDO_DB="+s.db)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rondo %q: %v\n%s", args, err, stderr.Bytes())
	}
	return out
}
