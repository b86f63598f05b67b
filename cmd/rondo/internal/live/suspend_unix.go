//go:build unix

package live

import "syscall"

// suspend stops the process as ctrl-z does elsewhere, and goes on when the shell continues it.
func (r *run) suspend() {
	if r.screen.Suspend() != nil {
		return
	}
	_ = syscall.Kill(0, syscall.SIGTSTP) // a process may send itself any signal
	if err := r.screen.Resume(); err != nil {
		panic(err)
	}
}
