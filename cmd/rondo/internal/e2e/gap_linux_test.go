package e2e

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

const (
	mostGapMemory = 512 << 20   // bytes that were ever resident, with --memory 256M; they were gigabytes
	mostGapWait   = time.Minute // of anybody, on a busy machine; it was several
	taken         = "0 errors, enqueued 1 value(s).\n"
)

// A lineClient speaks rrdcached's protocol, and waits mostGapWait for an answer.
type lineClient struct {
	c net.Conn
	r *bufio.Reader
}

func newLineClient(t *testing.T, d *rondotest.Daemon) *lineClient {
	t.Helper()
	c, err := net.Dial("unix", d.Listens["rrdcached"])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // what was asked has been answered
	return &lineClient{c, bufio.NewReader(c)}
}

// ask returns the answer to a request, with as many lines as its first one says that there are.
func (c *lineClient) ask(request string) (string, error) {
	if err := c.c.SetDeadline(time.Now().Add(mostGapWait)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(c.c, request); err != nil {
		return "", err
	}
	answer, err := c.r.ReadString('\n')
	number, _, _ := strings.Cut(answer, " ")
	more, _ := strconv.Atoi(number) // an answer that begins otherwise is known by its text
	for ; err == nil && more > 0; more-- {
		var line string
		line, err = c.r.ReadString('\n')
		answer += line
	}
	return answer, err
}

// mostResident returns the most memory that a process ever had resident, in bytes.
func mostResident(t *testing.T, d *rondotest.Daemon) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmHWM:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the system does not say how much memory a process had")
	return 0
}

// bystander sends samples of a series of its own until stop is called, which says what went wrong.
func bystander(t *testing.T, d *rondotest.Daemon) (stop func()) {
	t.Helper()
	c := newLineClient(t, d)
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- func() error {
			for {
				at := time.Now().UnixMicro()
				got, err := c.ask(fmt.Sprintf("UPDATE other %d.%06d:1", at/1e6, at%1e6))
				if err != nil {
					return fmt.Errorf("a sample of somebody else: %w", err)
				}
				if got != taken {
					return fmt.Errorf("a sample of somebody else is answered %q", got)
				}
				select {
				case <-end:
					return nil
				case <-time.After(5 * time.Millisecond):
				}
			}
		}()
	}()
	return func() {
		t.Helper()
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestGapThroughServer: one client made a series of 40 archives of billions of rows and sent two
// samples far apart, within its heartbeat. The server took gigabytes, everybody else, Drop and
// SIGTERM waited for minutes, and a restart did not help.
func TestGapThroughServer(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	socket := filepath.Join(t.TempDir(), "s")
	serve := func() *rondotest.Daemon {
		t.Helper()
		return rondotest.Serve(t, db, "--memory", "256M", "--rrdcached", "unix:"+socket)
	}
	d := serve()
	c := newLineClient(t, d)
	ask := func(request, want string) {
		t.Helper()
		got, err := c.ask(request)
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%.60q is answered %q (%v), want %q", request, got, err, want)
		}
	}
	create := func(name string, archives, rows, each int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "CREATE %s -s 1 -b 1000000000 DS:g:GAUGE:2000000000:U:U", name)
		for i := range archives {
			fmt.Fprintf(&b, " RRA:AVERAGE:0.5:%d:%d", 1+i*each, rows)
		}
		return b.String()
	}
	bounded := func(when string) {
		t.Helper()
		if n := mostResident(t, d); n > mostGapMemory {
			t.Errorf("%s: %d MB of memory were resident", when, n>>20)
		}
	}
	if got, err := c.ask("CREATE other DS:v:GAUGE:2000000000:U:U RRA:LAST:0:1:10 -s 1 -b 1000000000"); err != nil || !strings.HasPrefix(got, "0 ") {
		t.Fatal(got, err)
	}
	stop := bystander(t, d)
	ask(create("gap/worst", 40, 2_000_000_000, 0), "80000000000 values")
	ask("UPDATE gap/worst 1000000001:1", "-1 No such file")
	ask(create("gap/rows", 1, 100_000_001, 0), "100000001 rows, at most 100000000 are allowed")
	ask(create("gap/values", 40, 25_000_001, 0), "1000000040 values")
	for i, name := range []string{"gap/a", "gap/b", "gap/c"} {
		ask(create(name, 40, 24_000_000, i), "0 RRD created OK\n")
		ask("UPDATE "+name+" 1000000001:1", taken)
		ask("UPDATE "+name+" 1960000000:2", taken)
		ask("UPDATE "+name+" 2900000000:3", taken)
		bounded("after long gaps")
	}
	got := d.Call(t, "Create", `{"path":"gap/rpc","start":"1000000000","definition":{"step":1,"ds":["DS:g:GAUGE:4000000000:U:U"],"rra":["RRA:LAST:0:1:100000000","RRA:MIN:0:7:100000000"]}}`)
	if !strings.Contains(got, "ref") {
		t.Error(got)
	}
	if got := d.Call(t, "Write", `{"samples":[{"path":"gap/rpc","update":"N:1"}]}`); got != `{"accepted":"1"}` {
		t.Error(got)
	}
	fetch := "FETCH gap/b AVERAGE 2899999990 2899999999"
	ask(fetch, "2900000000: 3.00000000000000000e+00\n")
	d.Call(t, "Checkpoint", "{}")
	bounded("after a checkpoint")
	ask(fetch, "2900000000: 3.00000000000000000e+00\n")
	stop()
	ask("UPDATE gap/a 3860000000:4", taken)
	d.Kill(t)

	d = serve()
	bounded("after a kill")
	c = newLineClient(t, d)
	stop = bystander(t, d)
	ask("FETCH gap/a AVERAGE 3859999990 3859999999", "3860000000: 4.00000000000000000e+00\n")
	ask("UPDATE gap/b 3860000000:4", taken)
	for _, name := range []string{"gap/a", "gap/b", "gap/rpc"} {
		d.Call(t, "Drop", fmt.Sprintf(`{"path":%q}`, name))
	}
	stop()
	bounded("after Drop")
	began := time.Now()
	d.Stop(t)
	if took := time.Since(began); took > mostGapWait {
		t.Errorf("SIGTERM took %v", took)
	}
	if out := rondotest.Run(t, db, "check"); out != "no problem found\n" {
		t.Errorf("check: %s", out)
	}
}
