package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// earlyDoors finds mistakes in the credentials of the addresses of rrdcached's protocol and of the
// HTTP port.
func (s *server) earlyDoors() error {
	if f := s.RRDCached.TLS; f != [2]string{} {
		var err error
		if s.daemonTLS, err = webconfig.OpenPair(f[0], f[1], s.Logger); err != nil {
			return fmt.Errorf("--rrdcached-tls: %w", err)
		}
	}
	if s.web == nil {
		return nil
	}
	for _, key := range s.web.Config().Addresses() {
		l := s.web.Config().Listener(key, key)
		switch {
		case slices.ContainsFunc(s.RRDCached.Addresses, func(a rrdcached.Address) bool { return a.String() == key }):
		case !slices.ContainsFunc(s.HTTP, func(a Address) bool { return a.Addr == key }):
			return fmt.Errorf("--web-config: listeners: %s is no address of --http or --rrdcached as it is written there", key)
		case l.TLS || l.Auth:
			return fmt.Errorf("--web-config: listeners: %s, an address of --http, has neither tls nor auth: tls_server_config turns TLS on, and anonymous says who needs credentials", key)
		}
	}
	return nil
}

// door returns what the file of --web-config says of an address of rrdcached's protocol, and its
// listener with TLS if that is wanted. The key rrdcached is for TCP: sockets in the file system
// have keys of their own. secured reports whether credentials are asked for now: a new file may
// change that.
func (s *server) door(l net.Listener, a rrdcached.Address) (_ net.Listener, d rrdcached.Door, secured func() bool) {
	d.Allow = a.Allow
	secured = func() bool { return false }
	name, certificate := webconfig.RRDCachedListener, s.daemonTLS
	if a.Network == "unix" {
		name, certificate = a.String(), nil
	}
	if s.web != nil {
		rules := func() webconfig.Listener { return s.web.Config().Listener(name, a.String()) }
		if rules().TLS {
			certificate = s.web
		}
		secured = func() bool { return rules().Auth }
		d.User = func() *access.User {
			if r := rules(); !r.Auth {
				return r.Cap(access.Everything())
			}
			return nil
		}
		d.Token = func(text string) (*access.User, error) { return s.web.Token(text, rules()) }
	}
	if certificate != nil {
		l = tls.NewListener(l, certificate.TLS())
	}
	return l, d, secured
}
