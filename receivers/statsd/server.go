package statsd

import (
	"context"
	"net/netip"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A server is the receiver.
type server struct {
	receivers.Counters
	*sockets.Both
	cfg     receivers.Config
	set     settings
	sink    receivers.Sink
	asks    *receivers.Resolver
	metrics *aggregator
	logs    loglimit.Limit[string]
	taken   func()          // called after each line; for tests
	base    context.Context // of calls of the sink; ends when the grace of Serve is over
	cut     context.CancelFunc

	// Only flushes use these, and only one runs at a time.
	flushes int64 // how many there were
	newest  int64 // the latest second of a flush
	late    bool  // the last flush had samples that were late
	batch   core.Batch
	renewal receivers.Renewal
	row     []rra.Value
}

// A source is whom lines are from: a connection, or the datagrams of one read.
type source struct {
	*server
	host string     // of a connection
	addr netip.Addr // of a datagram
	now  int64      // when they were read, in seconds since 1970
}

// sender returns whom new series are counted against.
func (c *source) sender() string {
	if c.host != "" {
		return c.host
	}
	return c.addr.String()
}
