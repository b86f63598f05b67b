package main

//lint:file-ignore ST1005 The messages are rrdtool's.

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net"
	"strings"
	"syscall"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/rrd/rrdclient"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// addressVariable is rrdtool's default of --daemon.
const addressVariable = "RRDCACHED_ADDRESS"

// daemons are the servers that verbs were told to ask by rrdcached's protocol. A connection lasts as long as the process works.
type daemons struct {
	clients map[string]*rrdclient.Client
}

// dial returns a client of the server at addr; nil if it does not speak rrdcached's protocol, but rondo's own, it seems.
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

// unreached gives the error of a connection the words of librrd and the C library.
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

// An unreachable stands for the store of a server that cannot be reached: what is wrong with a command is told first.
type unreachable struct {
	missing
	err error
}

// Lookup returns why the server cannot be reached.
func (u unreachable) Lookup(string) (core.Ref, error) { return 0, u.err }

// Create returns why the server cannot be reached.
func (u unreachable) Create(context.Context, core.Spec) (core.Ref, error) { return 0, u.err }

// Import returns why the server cannot be reached.
func (u unreachable) Import(context.Context, []core.Copy, bool) ([]core.Created, error) {
	return nil, u.err
}

// List returns why the server cannot be reached.
func (u unreachable) List(context.Context, string, string) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) { yield(core.Series{}, u.err) }
}

// connect answers the option --daemon of a command that has begun.
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

// daemonOf returns the address that a verb is to ask, if any, and its arguments without it: the verb's own option goes before
// t's, and that before rrdtool's variable.
func (t target) daemonOf(args []string, getenv func(string) string) (addr string, rest []string) {
	addr, rest, takes := rrdtool.Daemon(args)
	switch {
	case addr != "":
	case t.daemon != "":
		addr = t.daemon
	case takes:
		addr = getenv(addressVariable)
	}
	return addr, rest
}
