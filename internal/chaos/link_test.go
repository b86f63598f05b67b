package chaos

import (
	"io"
	"net"
	"sync"
)

// A linkState says what becomes of the connections of a link.
type linkState int

// What a link does.
const (
	through linkState = iota // connections pass
	refused                  // connections are closed, and new ones too
	held                     // nothing passes, and no side notices, as when a cable is pulled
)

// A link is a port on loopback whose connections are passed to another address.
type link struct {
	listener net.Listener
	target   string
	done     sync.WaitGroup // the goroutines

	mu    sync.Mutex // guards what follows
	state linkState
	moved *sync.Cond // state has changed
	conns map[net.Conn]bool
	ended bool
}

// newLink listens on a free port and passes its connections to target.
func newLink(target string) (*link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, target: target, conns: make(map[net.Conn]bool)}
	l.moved = sync.NewCond(&l.mu)
	l.done.Go(l.accept)
	return l, nil
}

// addr returns where the link listens.
func (l *link) addr() string { return l.listener.Addr().String() }

// set changes what the link does. Connections that were held pass again, as when the cable is put
// back.
func (l *link) set(s linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	if s == refused {
		l.closeAll()
	}
	l.moved.Broadcast()
}

// reset closes all connections of the link. New ones pass if the state lets them.
func (l *link) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closeAll()
}

// close ends the link and waits for its goroutines.
func (l *link) close() {
	_ = l.listener.Close() // nobody connects any more
	l.mu.Lock()
	l.ended = true
	l.closeAll()
	l.moved.Broadcast()
	l.mu.Unlock()
	l.done.Wait()
}

func (l *link) closeAll() {
	for c := range l.conns {
		_ = c.Close() // both ends see it
	}
	clear(l.conns)
}

func (l *link) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		l.done.Go(func() { l.pass(c) })
	}
}

// pass connects c to the target until one of them ends.
func (l *link) pass(c net.Conn) {
	if !l.add(c) {
		return
	}
	defer l.drop(c)
	if !l.open() {
		return
	}
	to, err := net.Dial("tcp", l.target)
	if err != nil || !l.add(to) {
		return
	}
	defer l.drop(to)
	var back sync.WaitGroup
	back.Go(func() { l.copy(c, to) })
	l.copy(to, c)
	back.Wait()
}

// copy passes what from says to to. It closes both at the end.
func (l *link) copy(to, from net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && (!l.open() || l.write(to, buf[:n]) != nil) || err != nil {
			break
		}
	}
	_, _ = to.Close(), from.Close() // the other direction ends, too
}

func (l *link) write(to io.Writer, b []byte) error {
	_, err := to.Write(b)
	return err
}

// open waits while the link is held, and says whether connections pass.
func (l *link) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.state == held && !l.ended {
		l.moved.Wait()
	}
	return l.state == through && !l.ended
}

// add takes a connection into the set of those that are closed by a cut. It closes c and says false
// if there is a cut.
func (l *link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended || l.state == refused {
		_ = c.Close() // refused
		return false
	}
	l.conns[c] = true
	return true
}

func (l *link) drop(c net.Conn) {
	_ = c.Close() // it may be closed
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
