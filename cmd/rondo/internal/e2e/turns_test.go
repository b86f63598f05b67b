package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cmd/verbs"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// A talk is a session of pipe mode in this process.
type talk struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	code chan int
	err  bytes.Buffer
}

func begin(ctx context.Context, t *testing.T, db string) *talk {
	in, to := io.Pipe()
	from, out := io.Pipe()
	s := &talk{t: t, in: to, out: bufio.NewReader(from), code: make(chan int, 1)}
	p := &cli.Process{Args: []string{"rrdtool"}, Stdin: in, Stdout: out, Stderr: &s.err, LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}
	go func() {
		s.code <- verbs.Run(ctx, p, backend.Target{DB: db}, []string{"-"}, true)
		_ = out.Close() // the reader sees it
	}()
	return s
}

// ask sends a command and returns what is answered, without figures.
func (s *talk) ask(command string) string {
	s.t.Helper()
	if _, err := io.WriteString(s.in, command+"\n"); err != nil {
		s.t.Fatal(err)
	}
	var answer strings.Builder
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %v, after %q; %s", command, err, answer.String(), &s.err)
		}
		if strings.HasPrefix(line, "OK ") {
			return answer.String() + "OK"
		}
		answer.WriteString(line)
		if strings.HasPrefix(line, "ERROR: ") {
			return answer.String()
		}
	}
}

func (s *talk) expect(command, want string) {
	s.t.Helper()
	if got := s.ask(command); got != want {
		s.t.Errorf("%s: %q, want %q", command, got, want)
	}
}

func (s *talk) end() {
	s.t.Helper()
	if err := s.in.Close(); err != nil {
		s.t.Fatal(err)
	}
	if code := <-s.code; code != 0 || s.err.Len() > 0 {
		s.t.Errorf("exit code %d, %s", code, &s.err)
	}
}

// TestTurns has two sessions of pipe mode and single commands use one database without a server, by
// turns, and a server that begins to run meanwhile: each sees what the others did, and the sessions
// go on.
func TestTurns(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	verb := func(want string, args ...string) {
		t.Helper()
		var out, errors bytes.Buffer
		p := &cli.Process{Args: []string{"rrdtool"}, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errors, LookupEnv: func(string) (string, bool) { return "", false }, Now: time.Now}
		if code := verbs.Run(t.Context(), p, backend.Target{DB: db}, args, true); code != 0 || out.String() != want {
			t.Fatalf("%q: exit code %d, %q, %s", args, code, &out, &errors)
		}
	}
	a := begin(t.Context(), t, db)
	a.expect("create d/x -s 10 -b 1700000000 DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:10", "OK")
	a.expect("update d/x 1700000010:1", "OK")
	verb("1700000010\n", "last", "d/x")
	b := begin(t.Context(), t, db)
	b.expect("cd d", "OK")
	b.expect("update x 1700000020:1", "OK")
	a.expect("last d/x", "1700000020\nOK")
	a.expect("update d/x 1700000030:1", "OK")
	// What a knows by this name is another series now.
	verb("", "create", "d/x", "-s", "10", "-b", "1700000000", "DS:y:GAUGE:20:U:U", "DS:x:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10")
	a.expect("update d/x 1700000040:1:2", "OK")
	b.expect("lastupdate x", " y x\n\n1700000040: 1 2\nOK")
	verb("1700000040\n", "last", "d/x") // both have let go

	server := exec.Command("rondo", "serve", "--db", db, "--http=", "--collectd=", "--gmetric=", "--mono=", "--rrdcached=")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill() }) // it has ended, unless the test failed
	rondotest.WaitFor(t, "the socket", func() bool {
		c, err := net.Dial("unix", filepath.Join(db, "rondo.sock"))
		if err == nil {
			_ = c.Close() // nothing was sent
		}
		return err == nil
	})
	b.expect("pwd", "/d\nOK")
	b.expect("update x 1700000050:1:2", "OK")
	a.expect("last d/x", "1700000050\nOK")
	a.expect("update d/x 1700000060:1:2", "OK")
	b.expect("last x", "1700000060\nOK")
	a.end()
	b.end()
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPipeEndsWithItsContext: a session that waits for input ends with the first signal.
func TestPipeEndsWithItsContext(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := begin(ctx, t, filepath.Join(t.TempDir(), "db"))
	s.expect("pwd", "/\nOK")
	stop()
	if code := <-s.code; code != 0 || s.err.Len() > 0 {
		t.Errorf("exit code %d, %s", code, &s.err)
	}
}
