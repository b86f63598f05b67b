package sockets

import (
	"net"
	"net/netip"
)

// Local is the host of a connection to a unix socket, whose peer has no address.
const Local = "unix"

// Address returns the IP address of a peer. An IPv4 address is returned as one, even if the socket
// is one for IPv6. The address is not valid if the peer has none, as on a unix socket.
func Address(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// Client returns the client that an address is counted as where clients have shares: the address
// itself for IPv4, its network of 64 bits for IPv6, because one host usually has such a network to
// itself.
func Client(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if a.Is6() {
		return netip.PrefixFrom(a, 64).Masked().String()
	}
	return a.String()
}

// ClientOf returns the client of a remote address with a port, as net/http has it. What is no such
// address is its own client.
func ClientOf(remote string) string {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote
	}
	return Client(a.Addr())
}
