package sockets

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// The pauses after an Accept that failed: the first, and the longest.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// Accept takes connections of l until ctx ends. It calls open for each, and then serve, which open
// returns, in a goroutine of its own; a serve of nil means that open has refused and closed the
// connection. Accept closes l when ctx ends, and each connection when its serve returns. It returns
// when all of them have. The context of open ends when Accept does; where Accept cannot go on
// although ctx has not ended, the error says why.
func Accept(ctx context.Context, l net.Listener, open func(ctx context.Context, nc net.Conn) (serve func())) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() }) // l.Accept sees it
	defer stop()
	defer func() { _ = l.Close() }() // a second time it has nothing to say
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
		case err != nil: // out of files, or a peer that is gone: it passes
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

// farewellTime is how long a refused peer is given to take a last word. The buffer of a new socket
// has room for it, so this does not wait.
const farewellTime = 10 * time.Millisecond

// Refuse sends a last word to a peer for whose connection there is no place, and closes it.
func Refuse(nc net.Conn, farewell []byte) {
	if len(farewell) > 0 {
		_ = nc.SetWriteDeadline(time.Now().Add(farewellTime)) // then Write says so
		_, _ = nc.Write(farewell)                             // it is closed either way
	}
	_ = nc.Close() // its peer sees that
}
