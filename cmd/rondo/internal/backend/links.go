package backend

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/rrd/rrdclient"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// addressVariable is rrdtool's default of --daemon.
const addressVariable = "RRDCACHED_ADDRESS"

// daemons are the connections of one call to servers that speak rrdcached's protocol. A connection
// lasts until the call ends.
type daemons struct {
	clients map[string]*rrdclient.Client
}

// ofTarget returns a client of the daemon that t names; nil if t names none.
func (d *daemons) ofTarget(ctx context.Context, t Target) (*rrdclient.Client, error) {
	if t.Daemon == "" {
		return nil, nil
	}
	return d.dial(ctx, t.Daemon)
}

// dial returns a client of the server at addr; nil if it does not speak rrdcached's protocol. Then
// it is taken for a rondo server.
func (d *daemons) dial(ctx context.Context, addr string) (*rrdclient.Client, error) {
	if c := d.clients[addr]; c != nil {
		return c, nil
	}
	if strings.Contains(addr, "://") {
		return nil, nil
	}
	c, err := rrdclient.Dial(ctx, addr)
	if errors.Is(err, rrdclient.ErrProtocol) {
		return nil, nil
	}
	if err != nil {
		return nil, unreached(addr, err)
	}
	if d.clients == nil {
		d.clients = make(map[string]*rrdclient.Client)
	}
	d.clients[addr] = c
	return c, nil
}

// unreached returns the error of a connection in the words of librrd and the C library.
func unreached(addr string, err error) error {
	var number syscall.Errno
	var name *net.DNSError
	switch {
	case errors.As(err, &name) && name.IsNotFound:
		host, port, e := net.SplitHostPort(addr)
		if e != nil {
			host, port = addr, rrdcached.DefaultPort
		}
		return fmt.Errorf("Unable to connect to rrdcached: failed to resolve address '%s' (port %s): Name or service not known (-2)", host, port)
	case errors.As(err, &number):
		text := number.Error()
		return fmt.Errorf("Unable to connect to rrdcached: %s", strings.ToUpper(text[:1])+text[1:])
	}
	return err
}

// connect returns the store that the option --daemon of a running verb names.
func (d *daemons) connect(ctx context.Context, addr string) (rrdtool.Store, error) {
	c, err := d.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, fmt.Errorf("%s does not speak rrdcached's protocol: rondo --daemon %s … asks a rondo server", addr, addr)
	}
	return c, nil
}

func (d *daemons) close() {
	for _, c := range d.clients {
		_ = c.Close() // every answer was read
	}
}

// daemonOf returns the address that a verb is to ask, if any, and the verb's arguments without it.
// The verb's own option comes before t's, and t's before rrdtool's variable.
func (t Target) daemonOf(args []string, getenv func(string) string) (addr string, rest []string) {
	addr, rest, takes := rrdtool.Daemon(args)
	switch {
	case addr != "":
	case t.Daemon != "":
		addr = t.Daemon
	case takes:
		addr = getenv(addressVariable)
	}
	return addr, rest
}
