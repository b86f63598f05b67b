package natstest

import (
	"encoding/json"
	"fmt"
	"go/build"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/internal/ramtemp"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
)

var _ = ramtemp.Use() // before any test has a temporary folder

// program returns the program nats-server, and logs its version. If it is missing the test is
// skipped, or fails if RONDO_REQUIRE_PEERS is 1.
func program(t testing.TB) string {
	t.Helper()
	path := filepath.Join(build.Default.GOPATH, "bin", "nats-server")
	if _, err := os.Stat(path); err != nil {
		path = rrdtooltest.Peer(t, "nats-server")
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peer %s", strings.TrimSpace(string(version)))
	return path
}

// A Process is a nats-server that runs.
type Process struct {
	URL     string // nats://HOST:PORT
	Monitor string // http://HOST:PORT
	Dir     string // its files and its log

	route  string // nats://HOST:PORT for the other servers, or empty
	cmd    *exec.Cmd
	exited chan struct{}
}

// Start starts a server with more lines of configuration, waits until it is ready, and kills it
// at the end of the test. It returns nil if the server ends by itself: a port may be taken.
func Start(t testing.TB, dir, name, listen, config string) *Process {
	t.Helper()
	return startAt(t, dir, name, listen, "127.0.0.1:-1", config)
}

// startAt is Start with an address of the monitoring port.
func startAt(t testing.TB, dir, name, listen, monitor, config string) *Process {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	config = fmt.Sprintf("server_name: %s\nlisten: %q\nhttp: %q\nports_file_dir: %q\n%s\n", name, listen, monitor, dir, config)
	file := filepath.Join(dir, "nats.conf")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Dir: dir, cmd: exec.Command(program(t), "-c", file), exited: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // it is killed
		_ = log.Close()
		close(p.exited)
	}()
	t.Cleanup(p.Kill)
	ports := filepath.Join(dir, fmt.Sprintf("nats-server_%d.ports", p.cmd.Process.Pid))
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		var found struct{ NATS, Monitoring, Cluster []string }
		if b, err := os.ReadFile(ports); err == nil && json.Unmarshal(b, &found) == nil && len(found.NATS) > 0 && len(found.Monitoring) > 0 {
			p.URL, p.Monitor, p.route = found.NATS[0], found.Monitoring[0], strings.Join(found.Cluster, "")
			return p
		}
		select {
		case <-p.exited:
			return nil
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Fatalf("%s did not start within a minute", name)
	return nil
}

// PID returns the server's process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop stops the server as a machine that hangs: its ports stay open, and it answers nothing.
func (p *Process) Stop(t testing.TB) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
}

// Kill ends the server by SIGKILL.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// One starts a server that keeps streams and syncs always.
func One(t testing.TB) *Process {
	t.Helper()
	dir := t.TempDir()
	p := Start(t, dir, "n1", "127.0.0.1:-1", fmt.Sprintf("jetstream { store_dir: %q, sync_interval: always }", dir))
	if p == nil {
		t.Fatal("nats-server ended by itself: " + LogOf(dir))
	}
	return p
}

// LogOf returns what the server with the files in dir has logged.
func LogOf(dir string) string {
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// A Cluster is three servers, n1 to n3.
type Cluster struct {
	Nodes [3]*Process
	// Again starts a server with its former files and other ports, or returns nil. The server knows
	// the others of Nodes. Its monitoring port is the former one if it is free: the processes that
	// know it do not learn another one.
	Again [3]func() *Process
	// Alone is as Again, but the server and the others never meet.
	Alone [3]func() *Process
}

// Three starts a cluster of three servers.
func Three(t testing.TB) *Cluster {
	t.Helper()
	for range 5 { // the ports are free when they are looked for, and may be taken since
		c := &Cluster{}
		var route, monitor [3]string
		var routes []string
		for i := range c.Nodes {
			route[i] = freePort(t)
			routes = append(routes, fmt.Sprintf("%q", "nats://"+route[i]))
		}
		dir, up := t.TempDir(), 0
		for i := range c.Nodes {
			name := fmt.Sprintf("n%d", i+1)
			start := func(listen string, routes []string) *Process {
				config := fmt.Sprintf(
					"jetstream { store_dir: %q, sync_interval: always }\ncluster { name: test, listen: %q, routes: [%s] }",
					filepath.Join(dir, name), listen, strings.Join(routes, ", "))
				if at := monitor[i]; at != "" {
					if p := startAt(t, filepath.Join(dir, name), name, "127.0.0.1:-1", at, config); p != nil {
						return p
					}
				}
				p := Start(t, filepath.Join(dir, name), name, "127.0.0.1:-1", config)
				if p != nil {
					monitor[i] = strings.TrimPrefix(p.Monitor, "http://")
				}
				return p
			}
			c.Again[i] = func() *Process {
				var now []string // a server that was started again has another port than at first
				for k, p := range c.Nodes {
					if k != i && p != nil && p.route != "" {
						now = append(now, strconv.Quote(p.route))
					}
				}
				return start("127.0.0.1:-1", now)
			}
			c.Alone[i] = func() *Process { return start("127.0.0.1:-1", []string{`"nats://127.0.0.1:1"`}) }
			if c.Nodes[i] = start(route[i], routes); c.Nodes[i] != nil {
				up++
			}
		}
		if up == len(c.Nodes) {
			return c
		}
	}
	t.Fatal("no cluster of nats-servers started")
	return nil
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }() // it is only looked for
	return l.Addr().String()
}

// URLs names the servers, separated by commas.
func (c *Cluster) URLs() string {
	var all []string
	for _, p := range c.Nodes {
		all = append(all, p.URL)
	}
	return strings.Join(all, ",")
}

func (c *Cluster) Monitors() []string {
	var all []string
	for _, p := range c.Nodes {
		all = append(all, p.Monitor)
	}
	return all
}
