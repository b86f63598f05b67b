package clusterbench

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the process when this one ends, whatever ends it.
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
