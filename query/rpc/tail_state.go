package rpc

import (
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// The times of a Tail.
const (
	tailEvery   = time.Second      // between two looks for new rows
	tailSelect  = 5 * time.Second  // at least, between two looks for new series
	tailSilence = 30 * time.Second // after which an empty answer is sent
	tailRound   = 30 * time.Second // for a client to read one look, or for rows to come in reach
	tailLife    = time.Hour        // of a stream
)

// A tail is one Tail.
type tail struct {
	server   *Server
	view     access.View
	request  *rondov1.TailRequest
	matchers []core.Matcher
	cf       rra.CF
	start    int64 // rows that end then or before are left out; -1: those that exist already
	began    int64 // when the first series were chosen, in seconds since 1970; 0: they are not yet
	send     func(*rondov1.TailResponse) error
	account  *limit.Account
	watch    *core.Watch
	chosen   time.Time // when series were last chosen
	left     int32     // answers that are to be sent; 0: they are not counted
	series   map[core.Ref]*tailed
	sentTo   map[string]int64 // by path, next of series that have ended
	counted  int64            // of series, in Server.tailed
	sent     time.Time

	unchosen error     // why series could not be chosen again; nil: they were
	failed   error     // why the last look has not read all rows; nil: it has
	since    time.Time // when such looks began
}

// A tailed is a series of a tail.
type tailed struct {
	ref     core.Ref
	path    string
	archive int
	step    int64 // seconds a row
	sources int
	next    int64 // the end of the last row that was sent
}

// answer sends one answer.
func (t *tail) answer(m *rondov1.TailResponse) error {
	err := t.send(m)
	t.sent = time.Now()
	return err
}
