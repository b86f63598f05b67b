package rrdcachedbench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A side is one of the two servers.
type side struct {
	name   string
	dir    string
	start  func(ctx context.Context, s *side) *exec.Cmd
	caches bool // samples wait in memory until FLUSHALL

	cmd *exec.Cmd
	*connection
}

func (s *side) socket() string { return filepath.Join(s.dir, "s") }
func (s *side) base() string   { return filepath.Join(s.dir, "base") }

// patience is how long a server may take to start, or to answer.
const patience = 2 * time.Minute

// up starts the server and connects to it.
func (s *side) up(ctx context.Context) error {
	for _, dir := range []string{s.base(), filepath.Join(s.dir, "journal")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	s.cmd = s.start(ctx, s)
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	err = s.cmd.Start()
	_ = log.Close() // the child has it
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		if s.connection, err = s.dial(); err == nil {
			if answer, e := s.ask("PING"); e == nil && answer == "0 PONG" {
				return nil
			}
			_ = s.Close() // a socket that an earlier server left behind
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("%s does not answer (see %s)", s.name, filepath.Join(s.dir, "log")), s.kill())
		}
	}
}

// dial makes one more connection.
func (s *side) dial() (*connection, error) {
	c, err := net.Dial("unix", s.socket())
	if err != nil {
		return nil, err
	}
	return newConnection(s.name, c), nil
}

// down ends the server and waits for it.
func (s *side) down() error {
	_ = s.Close() // no request is open
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// kill ends the server as a loss of power would, except that data in the system's cache survives.
func (s *side) kill() error {
	if s.connection != nil {
		_ = s.Close() // the connection is given up
	}
	if err := s.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = s.cmd.Wait() // it was killed
	return nil
}

// stats returns the counters of STATS.
func (s *side) stats() (map[string]int64, error) {
	if err := s.send("STATS"); err != nil {
		return nil, err
	}
	lines, err := s.whole()
	if err != nil {
		return nil, err
	}
	st := make(map[string]int64)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		st[name], _ = strconv.ParseInt(value, 10, 64) // what is no number is not asked for
	}
	return st, nil
}

// flush makes the server write all samples, and waits until it has written so many data sets.
func (s *side) flush(written int64) error {
	if !s.caches {
		return nil // it is durable once it is acknowledged
	}
	if _, err := s.ask("FLUSHALL"); err != nil {
		return err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		st, err := s.stats()
		if err != nil {
			return err
		}
		if st["DataSetsWritten"] >= written {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s has written %d of %d", s.name, st["DataSetsWritten"], written)
		}
	}
}

// processor returns the processor time that the server has spent.
func (s *side) processor() time.Duration {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	f := strings.Fields(rest)
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64) // else 0
	system, _ := strconv.ParseInt(f[12], 10, 64)
	const tick = 10 * time.Millisecond // everywhere on Linux
	return time.Duration(user+system) * tick
}

// peakMemory returns the most memory that the server has had resident, in bytes; 0 if unknown.
func (s *side) peakMemory() int64 {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "status"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kilobytes, _ := strconv.ParseInt(f[0], 10, 64) // else 0
	return kilobytes << 10
}

// quiet waits until the server is idle, up to a limit.
func (s *side) quiet() {
	const enough = 4 // checks in a row at which the server was idle
	deadline := time.Now().Add(10 * time.Second)
	for last, still := s.processor(), 0; still < enough && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		now := s.processor()
		if still++; now != last {
			last, still = now, 0
		}
	}
}

// total returns the processor time of a server that has ended.
func (s *side) total() time.Duration {
	return s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// sync makes the system write the data that rrdcached has written to files. rondo syncs by itself.
func (s *side) sync() error {
	if !s.caches {
		return nil
	}
	return exec.Command("sync", "-f", s.base()).Run()
}
