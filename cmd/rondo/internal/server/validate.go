package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/webconfig"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/unixsocket"
	"github.com/rondo-db/rondo/receivers"
)

// validate finds mistakes before the database is opened. A failed start must not leave an empty
// database behind, because commands would then use it.
func (s *server) validate() error {
	for _, r := range s.Ways.Receivers {
		if err := r.Check(s.settings(r)); err != nil {
			return err
		}
		if r.Address.Addr != "" && len(r.Protocol.Sockets()) > 0 {
			if _, _, err := net.SplitHostPort(r.Address.Addr); err != nil {
				return fmt.Errorf("--%s %s: want HOST:PORT, such as %s", r.Protocol.Name, r.Address.Addr, example(r))
			}
		}
	}
	if s.WebConfig != "" {
		var err error
		if s.web, err = webconfig.Open(s.WebConfig, s.Logger); err != nil {
			return err
		}
		if s.web.AsksNobody() {
			s.Logger.Warn("the web configuration asks nobody for credentials: whoever reaches the HTTP port may change everything", "file", s.WebConfig)
		}
	}
	if err := s.validateCredentials(); err != nil {
		return err
	}
	return CheckSocket(s.Socket)
}

// validateCredentials finds mistakes in the credentials of the addresses of rrdcached's protocol
// and of the HTTP port.
func (s *server) validateCredentials() error {
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

// CheckSocket returns an error if the socket of the command line cannot get its group.
func CheckSocket(a unixsocket.Access) error {
	if a.Group == "" {
		return nil
	}
	if _, err := unixsocket.GroupID(a.Group); err != nil {
		return fmt.Errorf("--socket-group %s: %w", a.Group, err)
	}
	return nil
}

// example returns an address on which r could listen.
func example(r Receiver) string {
	if r.Protocol.Address != "" {
		return r.Protocol.Address
	}
	return "127.0.0.1:8888"
}

// free returns an error if none of the default addresses is free, and the server would have no
// other input. The sockets in the database's folder do not count, because they are always free. It
// is called after listenHTTP and before the database is opened.
func (s *server) free() error {
	missed := s.notListening()
	if s.http != nil || len(s.activated) > 0 || s.RRDCached.Named && len(s.RRDCached.Addresses) > 0 {
		return nil
	}
	for _, r := range s.Ways.Receivers {
		if !s.enabled(r) || r.Protocol.Network == receivers.HTTP {
			continue
		}
		c := s.settings(r)
		c.Address = ""
		if r.Address.Named || r.Address.Addr == "" || r.ReadsFiles(c) {
			return nil // a named address fails by itself, and files can be read without an address
		}
		if n := r.Protocol.Sockets(); len(n) > 0 && tryAll(n, r.Address.Addr) == nil {
			return nil
		}
		missed = append(missed, fmt.Sprintf("--%s %s", r.Protocol.Name, r.Address.Addr))
	}
	if len(missed) == 0 {
		return nil
	}
	return fmt.Errorf("none of the default addresses can be had (%s): another server has them. End it, or give this one addresses of its own by these flags",
		strings.Join(missed, ", "))
}

// tryAll returns an error if it cannot listen at an address on one of the networks.
func tryAll(networks []string, addr string) error {
	for _, n := range networks {
		var l io.Closer
		var err error
		if n == "udp" {
			l, err = net.ListenPacket(n, addr)
		} else {
			l, err = net.Listen(n, addr)
		}
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// opening explains an error of opening the database.
func (s *server) opening(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: a part of the database is another user's. Run the server as that user, or give all of it to the one that runs the server: chown -R USER %s", err, absolute(s.DB))
}
