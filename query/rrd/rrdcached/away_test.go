package rrdcached_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
)

// A client gets the error that its series is out of reach, and not that it does not exist.
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

// A blind store cannot look anything up, and lists.
type blind struct {
	core.Engine
	away *atomic.Bool
}

func (b blind) Lookup(path string) (core.Ref, error) {
	if b.away.Load() {
		return 0, enginetest.ErrAway
	}
	return b.Engine.Lookup(path)
}

// A LIST of a series that was out of reach said that there is no such file.
func TestListOfSeriesOutOfReach(t *testing.T) {
	var away atomic.Bool
	s := serve(t, rrdcached.Options{Store: blind{enginetest.Open(t), &away}}, 0)
	p := dial(t, s.addr)
	p.expect("CREATE a.rrd"+definition+"\n", "0 RRD created OK\n")
	p.expect("LIST /a.rrd\n", "1 RRDs\na.rrd\n")
	away.Store(true)
	if got := p.ask("LIST /a.rrd"); !strings.HasPrefix(got, "-1 ") || !strings.Contains(got, "not available now, try again") {
		t.Errorf("LIST: %q", got)
	}
}

// halves are two partitions.
type halves [2]core.Engine

func (h *halves) Partitions() int { return len(h) }

func (h *halves) Leader(_ context.Context, p int) (core.Engine, error) { return h[p], nil }

func (h *halves) Reader(_ context.Context, p int) (core.Engine, error) { return h[p], nil }

// One of two partitions is out of reach. Each update has its own answer, also those that arrive
// together and in a BATCH: what was stored is not reported as failed.
func TestPartOutOfReach(t *testing.T) {
	var away atomic.Bool
	both := &halves{enginetest.Open(t), enginetest.Away(enginetest.Open(t), away.Load)}
	store, err := router.New(both, router.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names [2]string // by partition
	for i := 0; names[0] == "" || names[1] == ""; i++ {
		name := fmt.Sprintf("s%d", i)
		names[router.Partition(name, 2)] = name + ".rrd"
	}
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	for _, name := range names {
		p.expect("CREATE "+name+definition+"\n", "0 RRD created OK\n")
		p.expect("UPDATE "+name+" 1000000010:1\n", "0 errors, enqueued 1 value(s).\n")
	}
	away.Store(true)
	p.send(fmt.Sprintf("UPDATE %s 1000000020:2\nUPDATE %s 1000000020:2\nUPDATE %[1]s 1000000020:3\n", names[0], names[1]))
	p.expect("", "0 errors, enqueued 1 value(s).\n")
	if got := p.line(); !strings.HasPrefix(got, "-1 ") || !strings.Contains(got, "not available now, try again") {
		t.Errorf("the partition out of reach: %q", got)
	}
	if got := p.line(); !strings.HasPrefix(got, "-1 illegal attempt to update") {
		t.Errorf("a sample that is late: %q", got)
	}
	p.expect("BATCH\n", "0 Go ahead.  End with dot '.' on its own line.\n")
	p.send(fmt.Sprintf("UPDATE %s 1000000030:3\nUPDATE %s 1000000030:3\nUPDATE %[1]s 1000000040:4\n.\n", names[0], names[1]))
	p.expect("", "1 errors\n")
	if got := p.line(); !strings.HasPrefix(got, "2 ") || !strings.Contains(got, "not available now, try again") {
		t.Errorf("in a batch: %q", got)
	}
	away.Store(false)
	p.expect("LAST "+names[0]+"\n", "0 1000000040\n")
	p.expect("LAST "+names[1]+"\n", "0 1000000010\n")
	p.expect("UPDATE "+names[1]+" 1000000030:3\n", "0 errors, enqueued 1 value(s).\n")
}
