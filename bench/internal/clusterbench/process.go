package clusterbench

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rondo-db/rondo/bench/internal/receivebench"
)

// stopTime is how long a process may take to end when it is asked to.
const stopTime = time.Minute

// A process is a program that runs. Its output is in a file.
type process struct {
	name   string
	cmd    *exec.Cmd
	log    string
	ended  time.Duration // processor time of its earlier starts
	exited chan struct{} // closed when it has exited
}

// start starts a program. Its output is appended to NAME.log in dir.
func start(dir, name, program string, args ...string) (*process, error) {
	p := &process{name: name, cmd: exec.Command(program, args...), log: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	p.cmd.Stdout, p.cmd.Stderr = log, log
	dieWithParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // whoever needs it alive sees that it is not
		close(p.exited)
	}()
	return p, nil
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.exited:
	case <-time.After(stopTime):
		p.kill()
		return fmt.Errorf("%s did not end within %v, its last words:\n%s", p.name, stopTime, p.words())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s: %v, its last words:\n%s", p.name, p.cmd.ProcessState, p.words())
	}
	return nil
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// cpu returns the processor time that the process has used.
func (p *process) cpu() time.Duration {
	user, system, err := receivebench.ProcessTimes(p.cmd.Process.Pid)
	if err != nil && p.cmd.ProcessState != nil {
		return p.ended + p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	}
	return p.ended + user + system
}

// words returns the end of what the process has printed.
func (p *process) words() string {
	b, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-2000):])
}

// died returns an error if the process has exited.
func (p *process) died() error {
	select {
	case <-p.exited:
		return fmt.Errorf("%s has ended, its last words:\n%s", p.name, p.words())
	default:
		return nil
	}
}

// freeAddress returns an address of loopback that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// ownCPU returns the processor time of this process.
func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
