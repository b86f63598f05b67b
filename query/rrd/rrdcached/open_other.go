//go:build !unix

package rrdcached

// openFlags are the flags for opening a file that may be a named pipe without a writer.
const openFlags = 0
