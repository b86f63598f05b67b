//go:build unix

package rrdcached

import "syscall"

// openFlags are the flags for opening a file that may be a named pipe without a writer.
const openFlags = syscall.O_NONBLOCK
