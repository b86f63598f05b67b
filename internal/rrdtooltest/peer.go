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

// requirePeers is the variable of the environment that, with the value 1, makes what is missing a
// failure.
const requirePeers = "RONDO_REQUIRE_PEERS"

// Required reports whether every peer must be there.
func Required() bool { return os.Getenv(requirePeers) == "1" }

// Lacks ends a test for which this machine lacks something: the test is skipped, or fails where
// RONDO_REQUIRE_PEERS is 1. The arguments say what is missing.
func Lacks(tb testing.TB, what ...any) {
	tb.Helper()
	if Required() {
		tb.Fatal(append([]any{requirePeers + "=1: "}, what...)...)
	}
	tb.Skip(what...)
}

// Peer returns the path of an installed program: of the first of names that there is. Without one
// the test ends as Lacks says.
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

// Need is Peer for tests that run several programs by their names.
func Need(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		Peer(tb, name)
	}
}

// RRDtool returns the path of rrdtool, of the version that rondo is held against, and logs that.
// Without it the test ends as Lacks says.
func RRDtool(tb testing.TB) string {
	tb.Helper()
	path := Peer(tb, "rrdtool")
	version, err := exec.Command(path, "--version").Output()
	line, _, _ := strings.Cut(string(version), "\n")
	switch {
	case err != nil:
		Lacks(tb, "rrdtool does not say its version: ", err)
	case !strings.HasPrefix(line, Version):
		Lacks(tb, "another version of rrdtool: ", line)
	}
	tb.Log(line)
	return path
}

// Run starts a program, which is killed when stop is called, or the test has ended. Where cmd has
// no Stdout or Stderr, what the program writes there is logged if the test fails.
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

// listenTime is how long a program may take to listen.
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
// listens at the unix socket, and at what further arguments say.
func RRDCached(tb testing.TB, base, socket string, args ...string) {
	tb.Helper()
	path := Peer(tb, "rrdcached")
	version, _ := exec.Command(path, "-h").CombinedOutput() // it says its version and ends
	line, _, _ := bytes.Cut(version, []byte("\n"))
	tb.Logf("peer: %s", line)
	// With more than one thread an update may be written before an earlier one of the same file,
	// which is then lost.
	cmd := exec.Command(path, append([]string{
		"-g", "-t", "1", "-l", "unix:" + socket, "-b", base, "-B", "-R", "-w", "1800", "-f", "3600", "-p", socket + ".pid",
	}, args...)...)
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C")
	Run(tb, cmd)
	Listening(tb, "unix", socket)
}
