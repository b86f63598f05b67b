package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// TestHUP changes the configuration of a running server, for the worse and for the better.
func TestHUP(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "rondo.yaml")
	configure := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	configure("http: 127.0.0.1:0\ncollectd: ''\n")
	db := filepath.Join(dir, "db")
	cmd := exec.Command("rondo", "serve", "--db", db, "--gmetric", "", "--config", file)
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	log := follow(logs)
	hup := func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	rondotest.WaitFor(t, "the socket", func() bool {
		c, err := net.Dial("unix", filepath.Join(db, "rondo.sock"))
		if err == nil {
			_ = c.Close() // nothing was sent
		}
		return err == nil
	})

	configure("colectd: 127.0.0.1:0\n")
	hup()
	rondotest.WaitFor(t, "the mistake is reported", func() bool {
		return strings.Contains(log(), "configuration not taken") && strings.Contains(log(), `unknown key \"colectd\"`)
	})

	if strings.Contains(log(), "needs a restart") {
		t.Errorf("a file that cannot be read was compared with the settings in force:\n%s", log())
	}

	c, err := net.ListenPacket("udp", "127.0.0.1:0") // a free port
	if err != nil {
		t.Fatal(err)
	}
	addr := c.LocalAddr().String()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	configure("http: 127.0.0.1:0\ncollectd: {addr: " + addr + "}\n")
	hup()
	// Asking for the port would take it away from the server at times.
	rondotest.WaitFor(t, "the new address is listened on", func() bool {
		return strings.Contains(log(), "addr="+addr) && strings.Contains(log(), `has taken effect" setting=collectd value=`+addr)
	})

	// What is not taken is named: settings of the server itself, and files that are gone.
	users := filepath.Join(dir, "users")
	if err := os.WriteFile(users, []byte("alice: secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := "http: 127.0.0.1:0\nmemory: 64M\nbase: " + dir + "\ncollectd: {addr: " + addr + ", security-level: sign, auth-file: " + users + "}\n" +
		"policy: [{path: a/**, step: 60}]\nalert-webhook: \"http://me:hunter2@127.0.0.1:1/?token=hunter2\"\nrrdcached: {tls: [" + dir + "/nosuch.crt, " + dir + "/nosuch.key]}\n"
	configure(settings)
	hup()
	rondotest.WaitFor(t, "settings that need a restart are named", func() bool {
		return strings.Contains(log(), `needs a restart" setting=memory in_force=4G configured=64M`) &&
			strings.Contains(log(), `needs a restart" setting=base in_force="" configured=`+dir)
	})
	rondotest.WaitFor(t, "an address is named without its password", func() bool {
		return strings.Contains(log(), `setting=alert-webhook in_force="" configured="http://me:xxxxx@127.0.0.1:1/?token=xxxxx"`)
	})
	if strings.Contains(log(), "hunter2") {
		t.Errorf("the log has a password:\n%s", log())
	}
	rondotest.WaitFor(t, "settings that have taken effect are named", func() bool {
		return strings.Contains(log(), `has taken effect" setting=collectd-security-level value=sign`) &&
			strings.Contains(log(), `has taken effect" setting=policy value=`) && strings.Contains(log(), "collectd-auth-file value="+users)
	})
	rondotest.WaitFor(t, "a certificate that is not there is named", func() bool {
		return strings.Contains(log(), `stays in force" setting=rrdcached-tls err="open `+dir+"/nosuch.key")
	})
	if strings.Contains(log(), `restart" setting=collectd`) || strings.Contains(log(), "effect\" setting=memory") || strings.Contains(log(), "effect\" setting=gmetric") || strings.Contains(log(), "setting=sync ") {
		t.Errorf("settings that were taken, or did not change, are said to need a restart:\n%s", log())
	}
	if err := os.Remove(users); err != nil {
		t.Fatal(err)
	}
	hup()
	rondotest.WaitFor(t, "a file that is gone is named", func() bool {
		return strings.Contains(log(), `stays in force" setting=collectd-auth-file err="open `+users)
	})
	// timeout(1) sends its signal to its child and to its group: the second one ended the process
	// at once, before or after the database was closed.
	quit, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-quit:
				stopped <- nil
				return
			default:
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				stopped <- err
				return
			}
		}
	}()
	state, err := cmd.Process.Wait() // cmd.Wait would close the pipe before all lines are read
	close(quit)
	if told := <-stopped; told != nil && !errors.Is(told, os.ErrProcessDone) {
		t.Error(told)
	}
	if err != nil || !state.Success() {
		t.Errorf("after SIGTERM: %v, %v\n%s", state, err, log())
	}
	rondotest.WaitFor(t, "the database is closed", func() bool { return strings.Contains(log(), "database closed") })
}

// TestSocketActivation hands the HTTP port over as systemd does: number 3, with a name.
func TestSocketActivation(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	// The port is the child's alone: connections wait there until it serves.
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db := filepath.Join(t.TempDir(), "db")
	cmd := exec.Command("sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http exec rondo serve --db "$0" --http '' --collectd ''`, db)
	cmd.ExtraFiles = []*os.File{f}
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	log := follow(logs)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), rondotest.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/-/healthy", l.Addr()), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%v\n%s", err, log())
	}
	_ = r.Body.Close() // its status is all that is wanted
	if r.StatusCode != http.StatusOK {
		t.Errorf("healthy: %s", r.Status)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v\n%s", err, log())
	}
}

// follow reads r in the background and returns what gives the text so far.
func follow(r io.Reader) func() string {
	lines := make(chan string, 1) // holds the text whenever nobody looks at it
	lines <- ""
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := r.Read(buf)
			lines <- <-lines + string(buf[:n])
			if err != nil {
				return
			}
		}
	}()
	return func() string {
		s := <-lines
		lines <- s
		return s
	}
}
