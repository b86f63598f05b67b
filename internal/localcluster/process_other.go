//go:build !linux

package localcluster

import "syscall"

// attributes are the attributes of a process that a Ctrl-C at the terminal does not reach.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
