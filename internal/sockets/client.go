package sockets

import (
	"net"
	"net/netip"
)

// Local is the host of a connection to a unix socket, whose peer has no address.
const Local = "unix"

// Address returns the IP address of a peer, and IPv4 as such even on a socket for both. It is not
// valid where the peer has none, as on a unix socket.
func Address(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// Client returns what an address is counted as where clients have shares: itself, or of IPv6 the
// network of 64 bits, which one host has for itself.
func Client(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}
