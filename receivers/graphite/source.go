package graphite

import (
	"net/netip"
	"sort"
	"time"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A source is a connection, or all datagrams, on their way to the sink. The points of one read wait
// until all of its bytes are parsed. Then the points of known series are added to the queue, the
// other series are asked for together, and their points are added behind.
type source struct {
	*server
	host string // whom new series are counted against; empty: see marks

	points  []Point
	marks   []mark                           // of the senders of datagrams
	unknown []int                            // points whose series must be asked for
	news    receivers.Newcomers[string, int] // the same, by their names
	now     time.Time                        // when the points were read
	second  int64                            // the same in whole seconds
	tick    uint32                           // the same in ticks
	latest  int64                            // the last second that a point may have
	value   [1]rra.Value
}

// A mark says that the points before number end, from the mark before, are from an address.
type mark struct {
	end  int
	from netip.Addr
}

func (s *server) newSource(host string) *source {
	return &source{server: s, host: host}
}

// begin notes the time.
func (c *source) begin() {
	c.now = c.cfg.Now()
	c.second = c.now.Unix()
	c.tick = c.asks.Tick(c.now)
	c.latest = c.cfg.Latest(c.now).Unix()
}

// sender returns whom the series of point i counts against.
func (c *source) sender(i int) string {
	if c.host != "" {
		return c.host
	}
	k := sort.Search(len(c.marks), func(k int) bool { return c.marks[k].end > i })
	return c.marks[k].from.String()
}
