package rondotest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A Daemon is `rondo serve` as a process of its own.
type Daemon struct {
	Cmd     *exec.Cmd
	DB      string
	URL     string            // of the HTTP port
	Listens map[string]string // addresses by what for
	Done    chan struct{}     // closed when its log has ended
	Log     bytes.Buffer      // read after done
}

var Listening = regexp.MustCompile(`msg=listening for="?([a-z -]+)"? network=\w+ addr=(\S+)`)

// Serve starts a server on the folder db that listens on HTTP alone, but for args, and
// returns when it is ready.
func Serve(t *testing.T, db string, args ...string) *Daemon {
	t.Helper()
	return ServeProgram(t, "rondo", db, args...)
}

// ServeProgram is Serve of another build.
func ServeProgram(t *testing.T, program, db string, args ...string) *Daemon {
	t.Helper()
	return start(t, program, db, append([]string{"--http", "127.0.0.1:0", "--collectd", "", "--gmetric", "", "--rrdcached", ""}, args...)...)
}

// StartDefault starts a server on the folder db that listens where it does by default, at ports of
// its own.
func StartDefault(t *testing.T, db string, args ...string) *Daemon {
	t.Helper()
	const anyPort = "127.0.0.1:0"
	return start(t, "rondo", db, append([]string{"--http", anyPort, "--collectd", anyPort, "--gmetric", anyPort}, args...)...)
}

// start starts a server on the folder db and returns when it is ready.
func start(t *testing.T, program, db string, args ...string) *Daemon {
	t.Helper()
	d := &Daemon{DB: db, Listens: make(map[string]string), Done: make(chan struct{})}
	d.Cmd = exec.Command(program, append([]string{"serve", "--db", db}, args...)...)
	stderr, err := d.Cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.Cmd.Process.Kill() // it may have ended
		<-d.Done
		_ = d.Cmd.Wait() // it may have been waited for
	})
	ready := make(chan bool, 1)
	go func() {
		defer close(d.Done)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			d.Log.WriteString(s.Text() + "\n")
			if m := Listening.FindStringSubmatch(s.Text()); m != nil {
				d.Listens[m[1]] = m[2]
			}
			if strings.Contains(s.Text(), "msg=ready") {
				ready <- true
			}
		}
		close(ready)
	}()
	select {
	case ok := <-ready:
		if !ok {
			<-d.Done
			t.Fatalf("the server did not start:\n%s", d.Log.String())
		}
	case <-time.After(Patience):
		t.Fatalf("the server does not become ready:\n%s", d.Log.String())
	}
	d.URL = "http://" + d.Listens["http"]
	return d
}

// Kill ends the server as a crash would.
func (d *Daemon) Kill(t *testing.T) {
	t.Helper()
	if err := d.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.Done
	if err := d.Cmd.Wait(); err == nil {
		t.Error("a killed server exited with 0")
	}
}

// Stop ends the server with SIGTERM; it must exit with 0.
func (d *Daemon) Stop(t *testing.T) {
	t.Helper()
	if err := d.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.Done
	if err := d.Cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, d.Log.String())
	}
}

// Call calls the RPC with JSON and returns its answer.
func (d *Daemon) Call(t *testing.T, method, body string) string {
	t.Helper()
	var compact bytes.Buffer // the spaces of protobuf's JSON are random
	if err := json.Compact(&compact, d.Post(t, "/rondo.v1.Rondo/"+method, "application/json", body)); err != nil {
		t.Fatal(err)
	}
	return compact.String()
}

// Run runs a command on the folder db and returns its output.
func Run(t *testing.T, db string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "rondo", args...)
	cmd.Env = append(os.Environ(), "RONDO_DB="+db, "TZ=UTC")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("rondo %v: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// Post posts a body to a path of the HTTP port, which must answer with success, and returns the
// answer.
func (d *Daemon) Post(t *testing.T, path, contentType, body string) []byte {
	t.Helper()
	r, err := http.Post(d.URL+path, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it has been read
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode/100 != 2 {
		t.Fatalf("%s: %s %s, %v", path, r.Status, text, err)
	}
	return text
}

// Patience is how long a test waits for what must happen.
const Patience = time.Minute

// WaitFor waits until something is done, but not longer than Patience.
func WaitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: waited for in vain", what)
		}
	}
}
