package rrdtooltest

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// requirePeers is an environment variable. Its value 1 makes tests fail whose peer is missing.
const requirePeers = "RONDO_REQUIRE_PEERS"

// Required reports whether every peer must be installed.
func Required() bool { return os.Getenv(requirePeers) == "1" }

// Lacks ends a test for which this machine lacks something: it skips the test, or fails it if
// RONDO_REQUIRE_PEERS is 1. The arguments say what is missing.
func Lacks(tb testing.TB, what ...any) {
	tb.Helper()
	if Required() {
		tb.Fatal(append([]any{requirePeers + "=1: "}, what...)...)
	}
	tb.Skip(what...)
}

// Peer returns the path of the first of the named programs that is installed. If none is, it ends
// the test as Lacks does.
func Peer(tb testing.TB, names ...string) string {
	tb.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Lacks(tb, "there is no "+strings.Join(names, " or "))
	return ""
}

// Need ends the test as Lacks does unless all of the named programs are installed.
func Need(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		Peer(tb, name)
	}
}

// RRDtool returns the path of rrdtool and logs its version. If rrdtool of the right version is not
// installed, it ends the test as Lacks does.
func RRDtool(tb testing.TB) string {
	tb.Helper()
	path := Peer(tb, "rrdtool")
	out, err := exec.Command(path, "--version").Output()
	line, _, _ := strings.Cut(string(out), "\n")
	switch {
	case err != nil:
		Lacks(tb, "rrdtool does not say its version: ", err)
	case !strings.HasPrefix(line, version):
		Lacks(tb, "another version of rrdtool: ", line)
	}
	tb.Log(line)
	return path
}

// Run starts a program. The program is killed when stop is called or the test ends. Output for
// which cmd has no Stdout or Stderr is logged if the test fails.
func Run(tb testing.TB, cmd *exec.Cmd) (stop func()) {
	tb.Helper()
	var log bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &log
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &log
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()         // killed
		}
	}
	tb.Cleanup(func() {
		stop()
		if tb.Failed() && log.Len() > 0 {
			tb.Logf("%s:\n%s", cmd.Path, log.Bytes())
		}
	})
	return stop
}

// listenTime is how long a program may take until it listens.
const listenTime = 20 * time.Second

// Listening waits until something listens at an address.
func Listening(tb testing.TB, network, addr string) {
	tb.Helper()
	for deadline := time.Now().Add(listenTime); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial(network, addr)
		if err == nil {
			_ = c.Close() // nothing was sent
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("nothing listens at %s: %v", addr, err)
		}
	}
}

// RRDCached runs rrdcached over the folder base until the test ends, and logs its version. It
// listens at the unix socket. args are further arguments.
func RRDCached(tb testing.TB, base, socket string, args ...string) {
	tb.Helper()
	path := Peer(tb, "rrdcached")
	out, _ := exec.Command(path, "-h").CombinedOutput() // it says its version and ends
	line, _, _ := bytes.Cut(out, []byte("\n"))
	tb.Logf("peer: %s", line)
	// With several threads, rrdcached may write an update before an earlier one of the same file,
	// and then loses the earlier one.
	cmd := exec.Command(path, append([]string{
		"-g", "-t", "1", "-l", "unix:" + socket, "-b", base, "-B", "-R", "-w", "1800", "-f", "3600", "-p", socket + ".pid",
	}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	Run(tb, cmd)
	Listening(tb, "unix", socket)
}

// version is the version of rrdtool that rondo is compared with.
const version = "RRDtool 1.7.2 "
