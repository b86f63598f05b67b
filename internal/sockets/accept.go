package sockets

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The pauses after an Accept that failed grow from firstPause to lastPause.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Accept takes connections from l until ctx ends. It calls open for each connection, and runs the
// function that open returns, serve, in a new goroutine. If serve is nil, open has refused and
// closed the connection. The context that open is given ends when Accept stops.
//
// When ctx ends, Accept closes l. It closes each connection when its serve returns, and returns
// when all have returned. The error is not nil if l failed before ctx ended.
func Accept(ctx context.Context, l net.Listener, open func(ctx context.Context, nc net.Conn) (serve func())) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // l.Accept sees it
	defer stop()
	defer func() { _ = l.Close() }() // the error of a second Close means nothing
	pause := time.Duration(0)
	for {
		nc, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = nc.Close() // it came too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept at %s: %w", l.Addr(), err)
		case err != nil: // too many open files, or the peer has gone: the error passes
			pause = min(max(2*pause, firstPause), lastPause)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			continue
		}
		pause = 0
		serve := open(ctx, nc)
		if serve == nil {
			continue
		}
		running.Go(func() {
			defer func() { _ = nc.Close() }() // what was to be written has been
			serve()
		})
	}
}

// farewellTime is how long a Write to a refused peer may take. The buffer of a new socket has room
// for the farewell, so the Write does not wait in practice.
const farewellTime = 10 * time.Millisecond

// Refuse sends farewell to the peer of a connection that has no place, and closes the connection.
func Refuse(nc net.Conn, farewell []byte) {
	if t, ok := nc.(*tls.Conn); ok {
		nc, farewell = t.NetConn(), nil // a handshake would keep the caller waiting
	}
	if len(farewell) > 0 {
		_ = nc.SetWriteDeadline(time.Now().Add(farewellTime)) // then Write says so
		_, _ = nc.Write(farewell)                             // it is closed either way
	}
	_ = nc.Close() // its peer sees that
}
