package rrdcached

import (
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/rra"
)

// A postponed is an UPDATE of a series that does not exist yet.
type postponed struct {
	slot int
	raw  []byte
	r    request
}

// A creating is a CREATE that was parsed and has not run yet.
type creating struct {
	args   []string // arguments of rrdtool create
	alone  bool     // it reads other series, so it cannot run beside other CREATEs
	seen   string   // where the client looks for the file, below the base; empty: nowhere
	number int32    // number of the request in its BATCH
	answer string   // empty: it has not run yet

	// what the series will be, unless d is nil: then rrdtool has to say what is wrong
	d     *rra.Definition
	path  string
	file  string // absolute name, which decides where seasons are smoothed
	start int64  // seconds since 1970; 0: ten seconds ago
}

// A fetching is a FETCH or FETCHBIN that was parsed and is not answered yet.
type fetching struct {
	cmd        *command
	e          *alias
	cf         rra.CF
	start, end int64    // seconds since 1970
	columns    []string // names of the columns; empty: all
	plan       *query.Plan
	picked     []int // indices of the columns in the plan
	err        error
}
