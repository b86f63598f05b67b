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

	mu     sync.Mutex    // guards what follows
	cmd    *exec.Cmd     // nil: it does not run
	exited chan struct{} // closed while it does not run
	wanted bool          // it is to run
	exits  int           // how often it has ended by itself
	keep   bool
	closed bool
}

// NewProcess returns a program that does not run yet. It logs into the folder dir.
func NewProcess(name, dir, path string, args ...string) *Process {
	p := &Process{Name: name, Log: filepath.Join(dir, name+".log"), path: path, args: args, exited: make(chan struct{})}
	close(p.exited)
	return p
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
	p.cmd, p.exited = cmd, exited
	go func() {
		_ = cmd.Wait() // the log says why it has ended
		p.mu.Lock()
		p.cmd = nil
		if p.wanted {
			p.exits++
		}
		again := p.wanted && p.keep
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
func (p *Process) Kill() { <-p.signal(syscall.SIGKILL, true) }

// Terminate ends the process by SIGTERM, or if it has not ended after a time by SIGKILL; it says
// whether SIGTERM was enough.
func (p *Process) Terminate(after time.Duration) bool {
	select {
	case <-p.signal(syscall.SIGTERM, true):
		return true
	case <-time.After(after):
		p.Kill()
		return false
	}
}

// Stop stops the process, which goes on with Continue.
func (p *Process) Stop() { p.signal(syscall.SIGSTOP, false) }

// Continue lets a stopped process go on.
func (p *Process) Continue() { p.signal(syscall.SIGCONT, false) }

// signal sends a signal, which ends the process or not. What it returns is closed when the process
// has ended.
func (p *Process) signal(s syscall.Signal, ends bool) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = p.wanted && !ends
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(s) // it may have ended by itself
	}
	return p.exited
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
