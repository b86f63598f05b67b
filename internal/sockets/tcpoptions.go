package sockets

import (
	"log/slog"
	"net"
	"time"
)

// The defaults of TCPOptions.
const (
	DefaultConns     = 1000
	DefaultHostConns = 100
	DefaultIdle      = 10 * time.Minute
	DefaultWriteTime = 5 * time.Second
)

// TCPOptions configures a TCP listener. Fields that are zero have the defaults above.
type TCPOptions struct {
	// Address is host:port.
	Address string
	// Listener, if not nil, is an open socket to use in place of Address.
	Listener net.Listener
	// Conns is how many connections there may be; 0: DefaultConns.
	Conns int
	// HostConns is how many connections one client may have, see Client; 0: DefaultHostConns.
	HostConns int
	// Idle is how long a peer may be silent; 0: DefaultIdle, negative: for ever.
	Idle time.Duration
	// Yield is how long a peer may be silent while another needs its place; 0: YieldTime.
	Yield time.Duration
	// WriteTime is how long one Write may take; 0: DefaultWriteTime.
	WriteTime time.Duration
	// Farewell is sent to a peer whose connection is refused.
	Farewell []byte
	// Traffic, if not nil, counts connections and bytes.
	Traffic *Traffic
	// Logger takes a line when all places are taken; nil: silent.
	Logger *slog.Logger
}

func (o TCPOptions) withDefaults() TCPOptions {
	if o.Conns <= 0 {
		o.Conns = DefaultConns
	}
	if o.HostConns <= 0 {
		o.HostConns = DefaultHostConns
	}
	if o.Idle == 0 {
		o.Idle = DefaultIdle
	}
	if o.WriteTime <= 0 {
		o.WriteTime = DefaultWriteTime
	}
	if o.Traffic == nil {
		o.Traffic = new(Traffic)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
