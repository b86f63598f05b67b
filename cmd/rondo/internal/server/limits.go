package server

import (
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc"
)

// A share is a limit, and what one client may have of it. A client is an address.
type share struct{ most, client int64 }

func (s share) limit() *limit.Limit { return limit.New(s.most, s.client) }

// A pace says how long a client may take to send or read n bytes: the time grace, and a second for
// each rate bytes.
type pace struct {
	grace time.Duration
	rate  int64 // bytes a second
}

func (p pace) deadline(start time.Time, n int64) time.Time {
	return start.Add(p.grace + time.Duration(n*int64(time.Second)/p.rate))
}

// bounds are the limits of the HTTP port.
type bounds struct {
	conns        share          // connections
	places       [classes]share // requests that are worked on, by their class
	memory       share          // bytes that requests and answers hold, other than arriving
	arriving     share          // bytes that requests which bring samples hold
	patience     time.Duration  // how long a request waits for a place
	work         time.Duration  // how long a request may be worked on
	send, read   pace           // how slowly a client may send a request, and read an answer
	header, idle time.Duration  // time for the head of a request, and until the next one
}

const (
	streamsOfConn = 100              // requests at a time on one connection of HTTP/2
	commandTime   = 10 * time.Minute // for a command of the command line
	// bodyBytes bounds the body of a request: a message and the frame of gRPC around it.
	bodyBytes = rpc.MaxRequestBytes + 1<<10
	// requestBytes is what a request holds beside its body and its answer: as much as its head may.
	requestBytes = 64 << 10
	// leastMemory is what requests may hold, however small the budget of the store is.
	leastMemory = 32 << 20
)

// defaultBounds returns the limits of a server whose store has a budget of memory bytes.
func defaultBounds(memory int64) bounds {
	held := max(memory/6, leastMemory)
	return bounds{
		conns:    share{1024, 512},
		places:   [classes]share{cheap: {32, 24}, heavy: {128, 64}, lasting: {128, 64}, watching: {4, 2}},
		memory:   share{held, held / 2},
		arriving: share{held / 2, held / 2 / 4 * 3},
		patience: 5 * time.Second,
		work:     2 * time.Minute,
		send:     pace{10 * time.Second, 64 << 10}, read: pace{20 * time.Second, 64 << 10},
		header: 10 * time.Second, idle: 2 * time.Minute,
	}
}

// A class is a kind of requests that have places of their own.
type class int

const (
	cheap    class = iota // answered from memory, or in milliseconds
	heavy                 // reads or computes much, in turns: graphs, queries, commands
	lasting               // ends when its client wants: streams, and sessions of pipe mode
	watching              // says how the server is doing, and waits for no other request
	classes
	samples = classes // brings samples, for which its receiver has places
)
