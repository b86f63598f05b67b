package sockets

import "sync/atomic"

// Traffic counts what arrives at sockets. The zero value is ready; it may be used concurrently.
type Traffic struct {
	Packets       atomic.Uint64 // datagrams; receivers of streams count their messages here
	Bytes         atomic.Uint64 // bytes in them
	KernelDropped atomic.Uint64 // datagrams lost because the socket's buffer was full
	Connections   atomic.Int64  // connections that are open now
	Refused       atomic.Uint64 // connections closed at once because all places were taken
	Foreign       atomic.Uint64 // connections closed because they spoke HTTP or TLS
}
