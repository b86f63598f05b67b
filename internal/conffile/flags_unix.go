//go:build unix

package conffile

import "syscall"

// openFlags open a pipe without waiting for its writer.
const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY
