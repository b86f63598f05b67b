package sink_test

import (
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestUntypedRequest: data sources of the policy were for rrdcached's UPDATE only. They apply to
// requests of other receivers whose senders do not say what their values are, and to no others.
func TestUntypedRequest(t *testing.T) {
	p, err := sink.NewPolicy([]sink.Rule{
		{Path: "counts/**", Sources: []string{"DS:n:DERIVE:20:0:U"}},
		{Path: "slow/**", Sources: []string{"DS:n:DERIVE:20:0:U"}, Heartbeat: 300, Step: 60},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path      string
		untyped   bool
		kind      rra.Kind
		heartbeat int64
	}{
		{"counts/a", true, rra.Derive, 20},
		{"counts/a", false, rra.Gauge, 20},
		{"slow/a", true, rra.Derive, 300},
		{"slow/a", false, rra.Gauge, 300},
		{"other/a", true, rra.Gauge, 20},
	} {
		d, err := p.DefineRequest(&receivers.Request{
			Identity: receivers.Identity{Path: tt.path}, Untyped: tt.untyped, Define: receivers.StandardDefinition,
		})
		if err != nil {
			t.Fatal(err)
		}
		if ds := d.Sources[0]; len(d.Sources) != 1 || ds.Kind != tt.kind || ds.Heartbeat != tt.heartbeat || len(d.Archives) == 0 {
			t.Errorf("%s: %+v, want %v and %d", tt.path, d.Sources, tt.kind, tt.heartbeat)
		}
	}
}
