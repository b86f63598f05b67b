package middleware

import (
	"time"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc"
)

// A Share is a limit, and what one client may have of it. A client is an address.
type Share struct{ Most, Client int64 }

func (s Share) limit() *limit.Limit { return limit.New(s.Most, s.Client) }

// A Pace says how long a client may take to send or read n bytes: the time grace, and a second for
// each rate bytes.
type Pace struct {
	Grace time.Duration
	Rate  int64 // bytes a second
}

func (p Pace) deadline(start time.Time, n int64) time.Time {
	return start.Add(p.Grace + time.Duration(n*int64(time.Second)/p.Rate))
}

// Bounds are the limits of the HTTP port.
type Bounds struct {
	Conns        Share          // connections
	Places       [classes]Share // requests that are worked on, by their class
	Memory       Share          // bytes that requests and answers hold, other than arriving
	arriving     Share          // bytes that requests which bring samples hold
	Patience     time.Duration  // how long a request waits for a place
	Work         time.Duration  // how long a request may be worked on
	Send, Read   Pace           // how slowly a client may send a request, and read an answer
	Header, Idle time.Duration  // time for the head of a request, and until the next one
}

const (
	// StreamsOfConn is how many requests one connection of HTTP/2 may have at a time.
	StreamsOfConn = 100
	commandTime   = 10 * time.Minute // for a command of the command line
	// bodyBytes bounds the body of a request: a message and the frame of gRPC around it.
	bodyBytes = rpc.MaxRequestBytes + 1<<10
	// requestBytes is what a request holds beside its body and its answer: as much as its head may.
	requestBytes = 64 << 10
	// leastMemory is what requests may hold, however small the budget of the store is.
	leastMemory = 32 << 20
)

// DefaultBounds returns the limits of a server whose store has a budget of memory bytes.
func DefaultBounds(memory int64) Bounds {
	held := max(memory/6, leastMemory)
	return Bounds{
		Conns:    Share{1024, 512},
		Places:   [classes]Share{Cheap: {32, 24}, Heavy: {128, 64}, Lasting: {128, 64}, Watching: {4, 2}},
		Memory:   Share{held, held / 2},
		arriving: Share{held / 2, held / 2 / 4 * 3},
		Patience: 5 * time.Second,
		Work:     2 * time.Minute,
		Send:     Pace{10 * time.Second, 64 << 10}, Read: Pace{20 * time.Second, 64 << 10},
		Header: 10 * time.Second, Idle: 2 * time.Minute,
	}
}

// A Class is a kind of requests that have places of their own.
type Class int

// The classes of requests.
const (
	Cheap    Class = iota // answered from memory, or in milliseconds
	Heavy                 // reads or computes much, in turns: graphs, queries, commands
	Lasting               // ends when its client wants: streams, and sessions of pipe mode
	Watching              // says how the server is doing, and waits for no other request
	classes
	Samples = classes // brings samples, for which its receiver has places
)
