package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A daemon is `rondo serve` as a process of its own.
type daemon struct {
	cmd     *exec.Cmd
	db      string
	url     string            // of the HTTP port
	listens map[string]string // addresses by what for
	done    chan struct{}     // closed when its log has ended
	log     bytes.Buffer      // read after done
}

var listening = regexp.MustCompile(`msg=listening for="?([a-z -]+)"? network=\w+ addr=(\S+)`)

// serveProcess starts a server on the folder db that listens on HTTP alone, but for args, and
// returns when it is ready.
func serveProcess(t *testing.T, db string, args ...string) *daemon {
	t.Helper()
	return serveProgram(t, "rondo", db, args...)
}

// serveProgram is serveProcess of another build.
func serveProgram(t *testing.T, program, db string, args ...string) *daemon {
	t.Helper()
	return startProgram(t, program, db, append([]string{"--http", "127.0.0.1:0", "--collectd", "", "--gmetric", "", "--rrdcached", ""}, args...)...)
}

// startServer starts a server on the folder db and returns when it is ready.
func startServer(t *testing.T, db string, args ...string) *daemon {
	t.Helper()
	return startProgram(t, "rondo", db, args...)
}

// startProgram is startServer of another build.
func startProgram(t *testing.T, program, db string, args ...string) *daemon {
	t.Helper()
	d := &daemon{db: db, listens: make(map[string]string), done: make(chan struct{})}
	d.cmd = exec.Command(program, append([]string{"serve", "--db", db}, args...)...)
	stderr, err := d.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		<-d.done
		_ = d.cmd.Wait() // it may have been waited for
	})
	ready := make(chan bool, 1)
	go func() {
		defer close(d.done)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			d.log.WriteString(s.Text() + "\n")
			if m := listening.FindStringSubmatch(s.Text()); m != nil {
				d.listens[m[1]] = m[2]
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
			<-d.done
			t.Fatalf("the server did not start:\n%s", d.log.String())
		}
	case <-time.After(patience):
		t.Fatalf("the server does not become ready:\n%s", d.log.String())
	}
	d.url = "http://" + d.listens["http"]
	return d
}

// kill ends the server as a crash would.
func (d *daemon) kill(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-d.done
	if err := d.cmd.Wait(); err == nil {
		t.Error("a killed server exited with 0")
	}
}

// stop ends the server with SIGTERM; it must exit with 0.
func (d *daemon) stop(t *testing.T) {
	t.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.done
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, d.log.String())
	}
}

// call calls the RPC with JSON and returns its answer.
func (d *daemon) call(t *testing.T, method, body string) string {
	t.Helper()
	r, err := http.Post(d.url+"/rondo.v1.Rondo/"+method, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s", method, r.Status, data)
	}
	var compact bytes.Buffer // the spaces of protobuf's JSON are random
	if err := json.Compact(&compact, data); err != nil {
		t.Fatal(err)
	}
	return compact.String()
}

// rondo runs a command on the folder db and returns its output.
func rondo(t *testing.T, db string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

// TestKilledServerLosesNothing writes by RPC and by command line, kills the server, and asks again:
// embedded, and a new server.
func TestKilledServerLosesNothing(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	d := serveProcess(t, db)
	const epoch = 1_700_000_000
	d.call(t, "Create", fmt.Sprintf(`{"path":"by/rpc","start":"%d","labels":[{"name":"host","value":"web1"}],
		"definition":{"step":10,"ds":["DS:v:GAUGE:20:U:U"],"rra":["RRA:AVERAGE:0.5:1:1000","RRA:MAX:0.5:6:100"]}}`, epoch))
	rondo(t, db, "create", "by/cli", "-s", "10", "-b", fmt.Sprint(epoch), "DS:v:COUNTER:20:U:U", "RRA:AVERAGE:0.5:1:1000")
	for i := 1; i <= 50; i++ {
		at := epoch + 10*i
		got := d.call(t, "Write", fmt.Sprintf(`{"samples":[{"path":"by/rpc","update":"%d:%d.5"}]}`, at, i*i))
		if got != `{"accepted":"1"}` {
			t.Fatalf("write %d: %s", i, got)
		}
		if i%10 == 0 {
			rondo(t, db, "update", "by/cli", fmt.Sprintf("%d:%d", at, 100*i*i))
			if i == 20 {
				d.call(t, "Checkpoint", "{}")
			}
		}
	}
	questions := [][]string{
		{"fetch", "by/rpc", "AVERAGE", "-s", fmt.Sprint(epoch), "-e", fmt.Sprint(epoch + 520)},
		{"fetch", "by/rpc", "MAX", "-s", fmt.Sprint(epoch), "-e", fmt.Sprint(epoch + 520)},
		{"fetch", "by/cli", "AVERAGE", "-s", fmt.Sprint(epoch), "-e", fmt.Sprint(epoch + 520)},
		{"info", "by/cli"},
	}
	ask := func() []string {
		answers := make([]string, len(questions))
		for i, q := range questions {
			answers[i] = rondo(t, db, q...)
		}
		return answers
	}
	fetch := fmt.Sprintf(`{"path":"by/rpc","start":"%d","end":"%d"}`, epoch, epoch+520)
	want, wantRPC := ask(), d.call(t, "Fetch", fetch)
	if !strings.Contains(want[0], fmt.Sprintf("%d: 2.5005000000e+03\n", epoch+500)) {
		t.Errorf("the last row is not there:\n%s", want[0])
	}
	same := func(when string) {
		t.Helper()
		for i, got := range ask() {
			if got != want[i] {
				t.Errorf("%s: rondo %v prints\n%swant\n%s", when, questions[i], got, want[i])
			}
		}
	}
	d.kill(t)
	same("after a kill, without server")
	d = serveProcess(t, db)
	same("with a new server")
	if got := d.call(t, "Fetch", fetch); got != wantRPC {
		t.Errorf("fetch by RPC:\n%s\nwant\n%s", got, wantRPC)
	}
	d.stop(t)
	same("after SIGTERM")
	if out := rondo(t, db, "check"); out != "no problem found\n" {
		t.Errorf("check: %s", out)
	}
}

// TestCommandsTakeTurns: while the lock is held and nobody answers, a command waits; here for
// another command, which lets go.
func TestCommandsTakeTurns(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	rondo(t, db, "create", "a", "-s", "10", "-b", "1000000000", "DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:50")
	const n = 8
	errs := make(chan error, n)
	for range n {
		go func() {
			cmd := exec.Command("rondo", "--db", db, "update", "a", "--", "N:1")
			if out, err := cmd.CombinedOutput(); err != nil && !bytes.Contains(out, []byte("minimum one second step")) {
				errs <- fmt.Errorf("%w: %s", err, out)
				return
			}
			errs <- nil
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

// TestServerStartsFast: an empty server takes little of the processor until it has ended. Wall time
// would measure the machine.
func TestServerStartsFast(t *testing.T) {
	d := serveProcess(t, filepath.Join(t.TempDir(), "db"))
	d.stop(t)
	if took := d.cmd.ProcessState.UserTime() + d.cmd.ProcessState.SystemTime(); took > 2*time.Second {
		t.Errorf("it took %v of the processor", took)
	}
}
