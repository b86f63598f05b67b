package localcluster

import "syscall"

// attributes are the attributes of a process that ends with this one, and that a Ctrl-C at the
// terminal does not reach.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
