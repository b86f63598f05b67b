package rpc

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// A Remote says how [Commands] treats callers who reach it over the network. What a command may do
// depends on the user in the context of its request, and what it may cost is bounded.
type Remote struct {
	// User returns who has sent a request, and is asked again while a session lasts; nil: who sends
	// a request does not change.
	User func(r *http.Request) (*access.User, error)
	// Idle is how long a session may be silent, and Stall how long a caller may take to read one
	// message. 0 means for ever.
	Idle, Stall time.Duration
}

// The limits of one command of a Remote, and of one message of a session.
const (
	// MaxCommandBytes bounds a request of Exec over the network.
	MaxCommandBytes   = 8<<20 - 64<<10
	maxCommandWords   = 10_000
	maxCommandText    = 1 << 20   // bytes of all words together, and of names of folders
	maxSessionMessage = 512 << 10 // bytes of one message of a session
	maxOffered        = 64 << 20  // bytes that are read of one file of the caller
	maxVariable       = 256       // bytes of a variable of the environment
)

// recheck is how often it is asked anew, at most, who the caller of a session is.
const recheck = time.Second

// localesVariable names a folder of locales. That would be one of the server's files.
const localesVariable = "LOCPATH"

// check returns an error if a command is longer than the limits, and takes out of its environment
// what commands over the network have no use for.
func (*Remote) check(req *rondov1.ExecRequest) error {
	words := req.GetArgv()
	if len(words) > maxCommandWords {
		return exhausted("a command of %d words, at most %d are possible", len(words), maxCommandWords)
	}
	n := len(req.GetCwd()) + len(req.GetBase()) + len(req.GetRealBase())
	for _, w := range words {
		n += len(w)
	}
	if n > maxCommandText {
		return exhausted("a command of %d bytes, at most %d are possible", n, maxCommandText)
	}
	maps.DeleteFunc(req.GetEnvironment(), func(name, value string) bool {
		known := name == KeepVariable || slices.Contains(rrdtool.Variables, name)
		return !known || name == localesVariable || len(value) > maxVariable
	})
	return nil
}

// watch returns what a session calls before it waits for more input: an error ends the session. It
// asks anew, at most once a second, who the caller is.
func (r *Remote) watch(req *http.Request) func() error {
	if r == nil || r.User == nil {
		return func() error { return nil }
	}
	was := access.From(req.Context())
	asked := time.Now()
	return func() error {
		if time.Since(asked) < recheck {
			return nil
		}
		asked = time.Now()
		is, err := r.User(req)
		if err != nil {
			return connect.NewError(connect.CodeUnauthenticated, err)
		}
		if !reflect.DeepEqual(was, is) {
			return connect.NewError(connect.CodePermissionDenied, fmt.Errorf("%w: what %s may do has changed: begin again", access.ErrDenied, was))
		}
		return nil
	}
}

// errIdle says that a session was silent for too long.
var errIdle = errors.New("nothing was asked for a while: the session has ended")

// A pacedConn is a connection of a session that waits for ever neither for its caller's next
// message nor for the caller to read.
type pacedConn struct {
	net.Conn
	stall time.Duration
	idle  time.Duration
	timer *time.Timer // ends Read; nil: Read waits for ever
	late  atomic.Bool // timer has ended this Read, or the next one
}

// paced returns the connection of a session.
func (r *Remote) paced(conn net.Conn) net.Conn {
	if r == nil {
		return conn
	}
	c := &pacedConn{Conn: conn, stall: r.Stall, idle: r.Idle}
	if r.Idle > 0 {
		// Commands.Close sets a deadline of its own, which Read must not take back.
		c.timer = time.AfterFunc(r.Idle, func() {
			c.late.Store(true)
			_ = conn.SetReadDeadline(time.Unix(1, 0))
		})
		c.timer.Stop()
	}
	return c
}

func (c *pacedConn) Read(p []byte) (int, error) {
	if c.timer == nil {
		return c.Conn.Read(p)
	}
	c.timer.Reset(c.idle)
	n, err := c.Conn.Read(p)
	c.timer.Stop()
	if c.late.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		err = errIdle
	}
	return n, err
}

func (c *pacedConn) Write(p []byte) (int, error) {
	if c.stall > 0 {
		_ = c.SetWriteDeadline(time.Now().Add(c.stall)) // on an error the Write fails, too
	}
	return c.Conn.Write(p)
}
