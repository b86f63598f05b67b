package rrdcached_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// A client is told that its series is out of reach, and not that it does not exist.
func TestSeriesOutOfReach(t *testing.T) {
	var away atomic.Bool
	s := serve(t, rrdcached.Options{Store: enginetest.Away(enginetest.Open(t), away.Load)}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	away.Store(true)
	for _, command := range []string{"LAST b.rrd", "FETCH b.rrd AVERAGE", "UPDATE b.rrd 1000000010:1"} {
		if got := p.ask(command); !strings.HasPrefix(got, "-1 ") || !strings.Contains(got, "not available now, try again") {
			t.Errorf("%s: %q", command, got)
		}
	}
}
