package sockets

import "time"

const (
	// MaxDatagram is the size in bytes of the largest datagram, and of the buffers for datagrams.
	MaxDatagram = 65535
	// udpBatch is how many datagrams one system call reads at most. Their buffers are 4 MiB of
	// address space; only pages that datagrams have filled take memory.
	udpBatch = 64
	// udpBuffer is the size in bytes that is asked for as the socket's receive buffer. It holds a
	// third of a second of 2 million values a second: so long may a busy machine keep a process
	// waiting. The system's limit (net.core.rmem_max) may be lower.
	udpBuffer = 32 << 20
	// maxRest is how long a socket with such a buffer is left unread at most: 100,000 values at 2
	// million a second are well within what receivers and buffer hold.
	maxRest = 50 * time.Millisecond
	minRest = time.Millisecond // sleeping for less saves nothing
)
