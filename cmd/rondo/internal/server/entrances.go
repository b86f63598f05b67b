package server

import (
	"errors"
	"net"
	"sync"
)

// An entrance is one address of the HTTP port.
type entrance struct {
	net.Listener
	key   string // as --http has it; the key of the address in the file of --web-config
	hosts *hosts
}

// An arrival is what Accept of an entrance has returned.
type arrival struct {
	net.Conn
	at  *entrance
	err error
}

// A joined is a listener that accepts the connections of all entrances.
type joined struct {
	entrances []*entrance
	arrivals  chan arrival
	closed    chan struct{}
	close     func() error
}

// join accepts connections at all entrances, which are one or more, until it is closed.
func join(entrances []*entrance) *joined {
	j := &joined{entrances: entrances, arrivals: make(chan arrival), closed: make(chan struct{})}
	j.close = sync.OnceValue(func() error {
		close(j.closed)
		var errs []error
		for _, e := range entrances {
			errs = append(errs, e.Close())
		}
		return errors.Join(errs...)
	})
	for _, e := range entrances {
		go j.accept(e)
	}
	return j
}

// accept passes the connections of an entrance on, and errors. After an error it goes on when the
// server asks for the next connection.
func (j *joined) accept(e *entrance) {
	for {
		c, err := e.Accept()
		select {
		case j.arrivals <- arrival{c, e, err}:
		case <-j.closed:
			if c != nil {
				_ = c.Close() // nobody has seen it
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept returns the next connection: an [arrival].
func (j *joined) Accept() (net.Conn, error) {
	select {
	case a := <-j.arrivals:
		if a.err != nil {
			return nil, a.err
		}
		return a, nil
	case <-j.closed:
		return nil, net.ErrClosed
	}
}

// Close closes all entrances.
func (j *joined) Close() error { return j.close() }

// Addr returns the address of the first entrance.
func (j *joined) Addr() net.Addr { return j.entrances[0].Addr() }
