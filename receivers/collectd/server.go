package collectd

import (
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/loglimit"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A server is the receiver. Only the goroutine of Serve uses it, except for the counters.
type server struct {
	receivers.Counters
	*sockets.UDP
	cfg   receivers.Config
	sink  receivers.Sink
	set   settings
	queue *receivers.Queue
	dec   Decoder
	cache *cache
	asks  *receivers.Resolver
	news  receivers.Newcomers[string, ValueList]

	now     time.Time // when the last Read returned
	tick    uint32    // of now
	latest  int64     // second beyond which a sample is of the future
	from    int       // the datagram being read
	values  [maxSources]rra.Value
	weak    bool      // the datagram being read holds something not well enough protected
	checked time.Time // when the users file was looked at
	noted   int64     // minute of the last notification
	notes   int       // logged in it

	lines loglimit.Limit[string]
}

// add adds v to the queue as a sample. It rounds the time to whole seconds, as collectd's rrdtool
// plugin does, so that the rows are those that the plugin makes.
func (s *server) add(ref core.Ref, v *ValueList) {
	for i := range v.Kinds {
		s.values[i] = v.Value(i)
	}
	s.queue.Add(ref, rra.Seconds(v.Time.Seconds()), s.values[:len(v.Kinds)])
}

// Drop counts one value list or notification that is left out: see Handler.
func (s *server) Drop(r receivers.Reason) {
	s.Counters.Drop(r, 1)
	s.weak = s.weak || r == receivers.Auth
}
