package sockets

import (
	"context"
	"errors"
	"net"

	"golang.org/x/sync/errgroup"
)

// Both listens for connections and for datagrams at one address.
type Both struct {
	tcp *TCP // nil: only datagrams
	udp *UDP // nil: only connections
}

// freePorts is how often ListenBoth looks for a port that is free for TCP and UDP alike.
const freePorts = 16

// ListenBoth opens a TCP and a UDP socket at t.Address. If the port is 0, both have the same free
// port. If t.Listener or u.Conn is an open socket, only open sockets are used.
func ListenBoth(t TCPOptions, u UDPOptions) (*Both, error) {
	b := new(Both)
	var err error
	if t.Listener == nil && u.Conn == nil {
		return b, b.listen(t, u)
	}
	if t.Listener != nil {
		if b.tcp, err = ListenTCP(t); err != nil {
			return nil, err
		}
	}
	if u.Conn != nil {
		if b.udp, err = ListenUDP(u); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	return b, nil
}

// listen opens both sockets at t.Address.
func (b *Both) listen(t TCPOptions, u UDPOptions) (err error) {
	_, port, _ := net.SplitHostPort(t.Address) // Listen says what is wrong with it
	for range freePorts {
		if b.tcp, err = ListenTCP(t); err != nil {
			return err
		}
		u.Address = b.tcp.Addr().String()
		if b.udp, err = ListenUDP(u); err == nil {
			return nil
		}
		if err = errors.Join(err, b.tcp.Close()); port != "0" {
			break
		}
	}
	return err
}

// Addr returns where it listens: the address of the TCP socket if there is one.
func (b *Both) Addr() net.Addr {
	if b.tcp != nil {
		return b.tcp.Addr()
	}
	return b.udp.Addr()
}

// UDP returns the socket for datagrams; nil: it does not listen for them.
func (b *Both) UDP() *UDP { return b.udp }

// Close closes the sockets. A second call does nothing.
func (b *Both) Close() error {
	var err error
	if b.tcp != nil {
		err = b.tcp.Close()
	}
	if b.udp != nil {
		err = errors.Join(err, b.udp.Close())
	}
	return err
}

// Serve serves both sockets until ctx ends: connections as TCP.Serve does with handle, datagrams as
// UDP.Serve does with flush and take. If one socket fails, Serve ends the other and returns the
// error.
func (b *Both) Serve(ctx context.Context, handle func(ctx context.Context, c *Conn), flush func(), take func(n int)) error {
	running, ctx := errgroup.WithContext(ctx)
	if b.tcp != nil {
		running.Go(func() error { return b.tcp.Serve(ctx, handle) })
	}
	if b.udp != nil {
		running.Go(func() error { return b.udp.Serve(ctx, flush, take) })
	}
	return running.Wait()
}
