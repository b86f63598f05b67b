package graphite

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestCountersOfPolicy: the policy may say that values count up; they are stored as whole numbers
// then, and others are counted.
func TestCountersOfPolicy(t *testing.T) {
	policy, err := sink.NewPolicy([]sink.Rule{{Path: "graphite/**/packets", Sources: []string{"DS:value:COUNTER:120:0:U"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := Protocol
	p.Network = "tcp"
	r := receivertest.Start(t, receivertest.Case{Protocol: p}, &receivertest.Recorder{Policy: policy}, nil)
	r.Send(fmt.Appendf(nil, "a.packets 12 %d\na.packets 13.5 %[1]d\na.load 1.5 %[1]d\n", receivertest.Epoch))
	r.Send(fmt.Appendf(nil, "a.packets 14 %d\na.packets 15.5 %[1]d\na.load 2 %[1]d\n", receivertest.Epoch+1))
	at := func(path string, second int64, v rra.Value) receivertest.Sample {
		return receivertest.Sample{Path: path, At: rra.Seconds(receivertest.Epoch + second), Values: []rra.Value{v}}
	}
	want := []receivertest.Sample{
		at("graphite/a/packets", 0, rra.Int(12)), at("graphite/a/load", 0, rra.Float(1.5)),
		at("graphite/a/packets", 1, rra.Int(14)), at("graphite/a/load", 1, rra.Float(2)),
	}
	if diff := cmp.Diff(want, r.UntilSamples(len(want))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st := r.Stats(); st.Dropped[receivers.State] != 2 {
		t.Errorf("stats %+v, want two values refused", st)
	}
}

// TestHostOfName: --graphite-host says which part of a name is the host; a tag says it before that,
// and the last part is the metric.
func TestHostOfName(t *testing.T) {
	for _, c := range []struct {
		name string
		part int
		host string
	}{
		{"servers.web1.load", 2, "web1"},
		{"servers..web1.load", 2, "web1"},
		{"web1.load", 2, ""},
		{"load", 1, ""},
		{"a.b.c;host=x", 1, "x"},
		{"a.b.c", 0, ""},
		{"a\xff.b", 1, "a\uFFFD"},
	} {
		n, err := ParseName([]byte(c.name))
		if err != nil {
			t.Fatal(err)
		}
		if got := core.LabelValue(identify(n, c.part).Labels, "host"); got != c.host {
			t.Errorf("part %d of %q is the host %q, want %q", c.part, c.name, got, c.host)
		}
	}
	for value, wrong := range map[string]bool{"2": false, "0": false, "-1": true, "two": true} {
		_, err := configure(receivers.Config{Options: map[string][]string{"graphite-host": {value}}})
		if (err != nil) != wrong {
			t.Errorf("--graphite-host %s: %v", value, err)
		}
	}
}
