package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"

	"connectrpc.com/connect"
)

// A RefusedError says why another node and this process will never talk to each other: they know
// each other in different ways.
type RefusedError struct {
	Why string // after "node NAME at ADDRESS", with the flag to look at
	Err error  // what the connection said, or nil
}

func (e *RefusedError) Error() string {
	if e.Err == nil {
		return e.Why
	}
	return fmt.Sprintf("%s: %v", e.Why, e.Err)
}

func (e *RefusedError) Unwrap() error { return e.Err }

const (
	whyToken = "knows another token than this process: look at --cluster-token-file on both"
	whyTLS   = "speaks TLS, and this process does not: look at --cluster-node-tls, which is missing here"
	whyPlain = "does not speak TLS, and this process does: look at --cluster-node-tls, which is missing there"
	whyCert  = "and this process do not trust each other's certificates: look at --cluster-node-tls on both"
)

// nowhere is a partition that no node has.
const nowhere = math.MaxUint32

// Admitted asks the other node whether it takes calls from here, and returns nil if so. A
// *RefusedError says that it never will; other errors, that it does not answer.
func (n *Node) Admitted(ctx context.Context) error {
	encrypted := strings.HasPrefix(n.address, "https://")
	if encrypted {
		if err := n.admittedByTLS(ctx); err != nil {
			return err
		}
	}
	err := n.knock(ctx)
	switch {
	case err == nil:
		return nil
	case connect.IsWireError(err):
		if connect.CodeOf(err) == connect.CodeUnauthenticated {
			return &RefusedError{Why: whyToken}
		}
		return nil // it takes calls, and not this one
	case !encrypted && n.speaksTLS(ctx):
		return &RefusedError{Why: whyTLS}
	}
	return err
}

// knock makes the cheapest call.
func (n *Node) knock(ctx context.Context) error {
	_, err := stats.one(ctx, n.Partition(nowhere), struct{}{})
	if _, answered := errors.AsType[*farError](err); answered {
		return nil
	}
	return err
}

// admittedByTLS makes a handshake, and waits for the first byte: the other node looks at the
// certificate of this process when the handshake is over on this side.
func (n *Node) admittedByTLS(ctx context.Context) error {
	err := n.handshake(ctx, n.o.TLS, true)
	if err == nil {
		return nil
	}
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted || isAlert(err) {
		return &RefusedError{Why: whyCert, Err: err}
	}
	_, at, _ := strings.Cut(n.address, "://")
	// The token is not sent.
	plain, bad := NewNode("http://"+at, Options{Timeout: n.o.Timeout, Dial: n.o.Dial})
	if bad != nil {
		return bad
	}
	defer plain.Close()
	if e := plain.knock(ctx); e == nil || connect.IsWireError(e) {
		return &RefusedError{Why: whyPlain}
	}
	return err
}

// speaksTLS reports whether the other node answers a handshake of TLS, whoever it is.
func (n *Node) speaksTLS(ctx context.Context) bool {
	err := n.handshake(ctx, &tls.Config{InsecureSkipVerify: true}, false) // nothing is said to it
	return err == nil || isAlert(err)
}

// handshake connects and makes a handshake of TLS. With first it also waits for the first byte.
func (n *Node) handshake(ctx context.Context, o *tls.Config, first bool) error {
	_, at, _ := strings.Cut(n.address, "://")
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		return err
	}
	c, err := n.transport.DialContext(ctx, "tcp", at)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // nothing was said
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	if o = o.Clone(); o == nil {
		o = &tls.Config{}
	}
	if o.ServerName == "" {
		o.ServerName = host
	}
	o.NextProtos = []string{"h2"}
	t := tls.Client(c, o)
	if err := t.HandshakeContext(ctx); err != nil || !first {
		return err
	}
	_, err = t.Read(make([]byte, 1))
	return err
}

// isAlert reports whether the other side has ended a handshake with an alert of TLS.
func isAlert(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "remote error"
}
