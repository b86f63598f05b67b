package api

import (
	"runtime"
	"time"
)

// The limits of one request.
const (
	maxPoints       = 11_000           // steps of a range query
	maxListed       = 1_000_000        // series, names or values in one list
	maxForm         = 1 << 20          // bytes of a form in a body
	maxSelectors    = 256              // match[] parameters
	maxReadBytes    = 4 << 20          // bytes of a remote read request, unpacked
	maxReadQueries  = 1_000            // queries of a remote read request
	maxReadForms    = 16               // types of answers in it
	maxReadGrouping = 1_000            // labels by which the hints of one query group
	maxFormatted    = 200              // depth of an expression that is formatted, in time by its cube
	frameBytes      = 1 << 20          // bytes of a frame of remote read, about
	flushBytes      = 64 << 10         // bytes that are collected before they are sent
	gzipBytes       = 1 << 10          // bytes from which on an answer is packed
	queryTime       = 2 * time.Minute  // for a query, with its time in the queue
	lookback        = 5 * time.Minute  // how far an instant vector looks back
	subqueryStep    = 60 * time.Second // of a subquery without one
)

// retryAfter is in how many seconds a request that was refused may be sent again.
const retryAfter = "1"

// Samples that one query may have in memory.
const (
	pointBytes = 16         // of a sample in memory
	leastHeld  = 1_000_000  // samples, however little memory there is
	mostHeld   = 50_000_000 // Prometheus' default
)

// places is how many queries run at once. Half of the processors are left to those who append.
func places() int { return max(1, runtime.GOMAXPROCS(0)/2) }

// samplesIn returns how many samples one query may hold if all queries of clients together may take
// an eighth of memory bytes, and all queries of rules as much.
func samplesIn(memory int64) int {
	if memory <= 0 {
		return mostHeld
	}
	return int(min(max(memory/8/pointBytes/int64(places()), leastHeld), mostHeld))
}
