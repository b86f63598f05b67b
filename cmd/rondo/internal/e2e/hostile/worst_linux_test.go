package hostile

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/internal/seedtest"
)

// A cost is what a server pays for something: bytes of memory, seconds of its processors' time.
type cost struct {
	memory int64
	cpu    float64
}

// costs returns the table "What one request can cost" of docs/limits.md, by its first column.
func costs(t *testing.T) map[string]cost {
	t.Helper()
	page, err := os.ReadFile("../../../../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "## What one request can cost\n")
	if !ok {
		t.Fatal("docs/limits.md has no table of costs")
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	out := make(map[string]cost)
	for _, m := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (\d+) MiB \| (\d+) s \|`).FindAllStringSubmatch(rest, -1) {
		memory, _ := strconv.ParseInt(m[2], 10, 64) // digits
		cpu, _ := strconv.ParseFloat(m[3], 64)
		out[m[1]] = cost{memory << 20, cpu}
	}
	return out
}

// TestWorstRequests sends to each entrance the worst requests that we can build, each to a server
// of its own with a budget of 512 MiB, and compares what the server took for one of them with the
// table in docs/limits.md. A request may be refused. The server answers others afterwards.
func TestWorstRequests(t *testing.T) {
	few := !seedtest.More()
	table := costs(t)
	for _, e := range entrances() {
		allowed, ok := table[e.name]
		if !ok {
			t.Errorf("docs/limits.md has no row %q", e.name)
			continue
		}
		delete(table, e.name)
		requests := e.requests
		if few {
			requests = requests[:1] // all of them take minutes: .ci/soak sends them
		}
		for _, r := range requests {
			t.Run(e.name+"/"+r.name, func(t *testing.T) {
				t.Parallel()
				paid, answer := newWorst(t).pay(t, r)
				t.Logf("%d MiB, %.1f s: %s", paid.memory>>20, paid.cpu, answer)
				if paid.memory > allowed.memory {
					t.Errorf("it took %d MiB, the page says %d MiB", paid.memory>>20, allowed.memory>>20)
				}
				if paid.cpu > allowed.cpu {
					t.Errorf("it took %.1f s of processor time, the page says %.0f s", paid.cpu, allowed.cpu)
				}
			})
		}
	}
	for name := range table {
		t.Errorf("docs/limits.md has a row %q that no test tries", name)
	}
}

// A worst is a server that is asked for one thing, with every entrance open.
type worst struct {
	*rondotest.Daemon
	now   int64
	fresh int64 // bytes of memory when it was ready
}

func newWorst(t *testing.T) *worst {
	t.Helper()
	var args []string
	for _, name := range []string{"graphite", "graphite-pickle", "statsd", "influx", "mono", "smon", "collectd", "gmetric", "rrdcached"} {
		args = append(args, "--"+name, "127.0.0.1:0")
	}
	args = append(args, "--memory", "512M", "--config", writeConfig(t, "{}\n"), "--rrdcached-base", t.TempDir())
	w := &worst{Daemon: rondotest.Serve(t, filepath.Join(t.TempDir(), "db"), args...), now: time.Now().Unix()}
	w.fresh = w.memory(t, "VmRSS:")
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "m,host=h%d v=1\n", i)
	}
	if answer, err := w.post("/write", "text/plain", nil, []byte(lines.String())); err != nil || answer != "204" {
		t.Fatal(answer, err)
	}
	return w
}

// pay sends a request, and returns what the server took for it until it was idle again.
func (w *worst) pay(t *testing.T, r request) (paid cost, answer string) {
	t.Helper()
	if r.before != nil {
		if err := r.before(w); err != nil {
			t.Fatal(err)
		}
	}
	w.idle(t)
	began := w.cpu(t)
	answer, err := r.send(w)
	if err != nil {
		answer = err.Error() // it may be refused in any way
	}
	w.idle(t)
	paid = cost{w.memory(t, "VmHWM:") - w.fresh, w.cpu(t) - began}
	if got, err := w.get("/-/healthy"); err != nil || got != "200" {
		t.Errorf("afterwards the server answers %s %v", got, err)
	}
	return paid, answer[:min(len(answer), 200)]
}

// idle waits until the server takes next to no processor time.
func (w *worst) idle(t *testing.T) {
	t.Helper()
	for last := w.cpu(t); ; {
		time.Sleep(300 * time.Millisecond)
		now := w.cpu(t)
		if now-last < 0.03 {
			return
		}
		last = now
	}
}

// memory returns a figure of the process in bytes.
func (w *worst) memory(t *testing.T, field string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\n"+field)
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// cpu returns how many seconds of processors the process has taken.
func (w *worst) cpu(t *testing.T) float64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	user, _ := strconv.ParseFloat(f[11], 64) // digits
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// get returns the status of an answer, and the beginning of what stands in it if it is an error.
func (w *worst) get(path string) (string, error) { return w.ask("GET", path, nil, nil) }

func (w *worst) post(path, media string, header http.Header, body []byte) (string, error) {
	if header = header.Clone(); header == nil {
		header = make(http.Header)
	}
	header.Set("Content-Type", media)
	return w.ask("POST", path, header, body)
}

// rpc calls a method with JSON.
func (w *worst) rpc(method, body string) (string, error) {
	return w.post("/rondo.v1.Rondo/"+method, "application/json", nil, []byte(body))
}

// pour writes bytes into a connection, says that there are no more, and returns what comes back
// until the server closes it.
func (w *worst) pour(network, name string, data []byte) (string, error) {
	c, err := net.Dial(network, w.Listens[name])
	if err != nil {
		return "", fmt.Errorf("%s listens at %q: %w", name, w.Listens[name], err)
	}
	defer func() { _ = c.Close() }()
	stream, ok := c.(*net.TCPConn)
	if !ok {
		_, err := c.Write(data)
		return "sent", err
	}
	if err := c.SetDeadline(time.Now().Add(rondotest.Patience)); err != nil {
		return "", err
	}
	answer := make(chan string, 1)
	go func() {
		read, err := io.Copy(io.Discard, c)
		answer <- fmt.Sprintf("%d bytes, %v", read, err)
	}()
	if _, err := c.Write(data); err != nil {
		return "", err
	}
	if err := stream.CloseWrite(); err != nil {
		return "", err
	}
	return <-answer, nil
}
