package rrdcached

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
)

// handshakeTime is how long a peer may take to begin TLS.
const handshakeTime = 10 * time.Second

// Serve accepts connections of l, which may be of TLS, until ctx ends. d says who may do what.
// Serve closes l and returns when all its connections have ended. The error is ctx's, or says why
// Serve could accept no more connections.
func (s *Server) Serve(ctx context.Context, l net.Listener, d Access) error {
	defer context.AfterFunc(ctx, func() {
		t := time.AfterFunc(graceTime, s.end)
		context.AfterFunc(s.life, func() { t.Stop() })
	})()
	return sockets.Accept(ctx, l, func(ctx context.Context, nc net.Conn) func() {
		c, err := s.newConn(ctx, nc, d)
		if err != nil {
			s.o.Logger.Error("connection not served", "err", err)
			_ = nc.Close() // nothing was sent
			return nil
		}
		if c.place, _ = s.places.Enter(nc, c.host, c.peer, time.Now()); c.place == nil {
			s.stats.refused.Add(1)
			sockets.Refuse(nc, []byte("-1 Too many connections.\n"))
			return nil
		}
		s.stats.accepted.Add(1)
		return func() {
			defer c.place.Leave()
			stop := context.AfterFunc(ctx, c.interrupt)
			defer stop()
			if t, ok := nc.(*tls.Conn); ok && !shakesHands(ctx, t) {
				return
			}
			c.serve()
		}
	})
}

// shakesHands reports whether a peer begins TLS in time.
func shakesHands(ctx context.Context, t *tls.Conn) bool {
	ctx, cancel := context.WithTimeout(ctx, handshakeTime)
	defer cancel()
	return t.HandshakeContext(ctx) == nil
}

func (s *Server) newConn(ctx context.Context, nc net.Conn, d Access) (*conn, error) {
	in, err := sockets.NewInput(nc)
	if err != nil {
		return nil, err
	}
	c := &conn{s: s, ctx: ctx, nc: nc, in: in, peer: sockets.Local, host: sockets.Local, patience: s.o.WriteTime}
	if a := sockets.Address(nc.RemoteAddr()); a.IsValid() {
		c.peer, c.host = a.String(), sockets.Client(a)
	}
	c.wake.init(nc)
	c.setAccess(d)
	return c, nil
}

// Stats returns the server's counters.
func (s *Server) Stats() Stats {
	st := Stats{
		Accepted: s.stats.accepted.Load(), Refused: s.stats.refused.Load(), Stalled: s.stats.stalled.Load(), Foreign: s.stats.foreign.Load(),
		Bytes: s.stats.bytes.Load(), Samples: s.stats.samples.Load(), Unknown: s.stats.unknown.Load(), Names: s.cache.len(),
	}
	for i := range commands {
		st.Requests = append(st.Requests, s.stats.requests[i].Load())
		st.Errors = append(st.Errors, s.stats.errors[i].Load())
	}
	st.Connections = s.places.Len()
	st.Answers = s.answers.local.Used() + s.answers.tcp.Used()
	return st
}
