package rpc

import (
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// A Newcomer is a series that a Write names, that does not exist, and that the Write asks for.
type Newcomer struct {
	Path   string
	Labels []core.Label
	// Sender is the address of the client.
	Sender string
	// Time is the time of the earliest sample.
	Time rra.Time
	// Values is how many values a sample has.
	Values int
	// Step in seconds, data sources and archives as the request gives them; 0 and nil: it does not.
	Step     int64
	DS, RRAs []string
}

// A Question is the request of a Query, with its times read.
type Question struct {
	Expr       string
	Client     string // address of the client
	Start, End time.Time
	Step       time.Duration // 0: the expression is evaluated at End
	Lookback   time.Duration // 0: the usual one
	Limit      int           // series in the answer; 0: no limit
}
