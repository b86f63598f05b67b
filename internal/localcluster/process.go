package localcluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// againAfter is how long Keep waits until it starts a process again that has ended by itself.
const againAfter = 500 * time.Millisecond

// A Process is a program that is started, ended and started again with the same arguments. Its
// methods may be called concurrently.
type Process struct {
	Name string
	Log  string // the file with all that it has said

	path string
	args []string

	mu      sync.Mutex // guards what follows
	cmd     *exec.Cmd  // nil: it does not run
	exited  chan struct{}
	wanted  bool // it is to run
	stopped bool // by SIGSTOP
	exits   int  // how often it has ended by itself
	keep    bool
	closed  bool
}

// NewProcess returns a program that does not run yet. It logs into the folder dir.
func NewProcess(name, dir, path string, args ...string) *Process {
	return &Process{Name: name, Log: filepath.Join(dir, name+".log"), path: path, args: args}
}

// Keep lets the process be started again whenever it ends by itself.
func (p *Process) Keep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = true
}

// Start starts the process if it does not run.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = true
	return p.start()
}

// start starts the process. p.mu is locked.
func (p *Process) start() error {
	if p.cmd != nil || p.closed {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o755); err != nil {
		return err
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes() // signals for this process are not for that one
	err = cmd.Start()
	_ = log.Close() // the process has its own
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited, p.stopped = cmd, exited, false
	go func() {
		_ = cmd.Wait() // the log says why it has ended
		p.mu.Lock()
		p.cmd = nil
		again := p.wanted && !p.closed
		if again {
			p.exits++
		}
		again = again && p.keep
		p.mu.Unlock()
		close(exited)
		if again {
			time.Sleep(againAfter)
			p.mu.Lock()
			defer p.mu.Unlock()
			if p.wanted {
				_ = p.start() // it is seen not to run
			}
		}
	}()
	return nil
}

// Kill ends the process by SIGKILL, and returns when it has ended.
func (p *Process) Kill() { p.end(syscall.SIGKILL) }

// Terminate ends the process by SIGTERM, or if it has not ended after a time by SIGKILL; it says
// whether SIGTERM was enough.
func (p *Process) Terminate(after time.Duration) bool {
	p.mu.Lock()
	exited := p.signal(syscall.SIGTERM, false)
	p.mu.Unlock()
	if exited == nil {
		return true
	}
	select {
	case <-exited:
		return true
	case <-time.After(after):
		p.Kill()
		return false
	}
}

func (p *Process) end(s syscall.Signal) {
	p.mu.Lock()
	exited := p.signal(s, false)
	p.mu.Unlock()
	if exited != nil {
		<-exited
	}
}

// signal sends a signal and notes whether the process is to run. It returns nil if it does not run.
// p.mu is locked.
func (p *Process) signal(s syscall.Signal, wanted bool) chan struct{} {
	p.wanted = wanted
	if p.cmd == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(s) // it may have ended by itself
	return p.exited
}

// Stop stops the process, which goes on with Continue.
func (p *Process) Stop() { p.pause(syscall.SIGSTOP, true) }

// Continue lets a stopped process go on.
func (p *Process) Continue() { p.pause(syscall.SIGCONT, false) }

func (p *Process) pause(s syscall.Signal, stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = stopped
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may have ended by itself
	}
}

// Exits returns how often the process has ended by itself.
func (p *Process) Exits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exits
}

// Close kills the process, which does not start any more.
func (p *Process) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.Kill()
}
