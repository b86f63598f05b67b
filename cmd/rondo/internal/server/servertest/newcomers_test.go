package servertest

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/receivers/sink"
)

// makeSeries makes a series of one GAUGE with a step of 10 seconds.
func makeSeries(t *testing.T, c rondov1.RondoClient, path string) {
	t.Helper()
	_, err := c.Create(t.Context(), &rondov1.CreateRequest{
		Path: path, Start: "1700000000", Definition: &rondov1.Definition{Step: 10, Ds: []string{"DS:v:GAUGE:20:U:U"}, Rra: []string{"RRA:AVERAGE:0.5:1:100"}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWriteMakesSeries: samples of series that did not exist were refused, whatever the policy.
func TestWriteMakesSeries(t *testing.T) {
	policy, err := sink.NewPolicy([]sink.Rule{
		{Path: "fine/**", Step: 10, Heartbeat: 40, Archives: []string{"RRA:MAX:0.5:10s:1h"}},
		{Path: "pair/*", Step: 60, Sources: []string{"DS:in:COUNTER:120:0:U", "DS:out:COUNTER:120:0:U"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, server.Config{HTTP: anyPorts, Ways: server.Ways{Policy: policy}})
	c := dial(t, r.url(""))
	float := func(vs ...float64) (out []*rondov1.Value) {
		for _, v := range vs {
			out = append(out, &rondov1.Value{Value: &rondov1.Value_Float{Float: v}})
		}
		return out
	}
	w, err := c.Write(t.Context(), &rondov1.WriteRequest{Create: true, Samples: []*rondov1.Sample{
		{Path: "fine/a", Update: "1700000020:2", Labels: []*typesv1.Label{{Name: "host", Value: "web1"}}},
		{Path: "fine/a", Update: "1700000010:1"}, // out of order: it is late, though the series begins before it
		{Path: "plain", TimeUs: 1_700_000_000e6, Values: float(1, 2)},
		{Path: "pair/x", Update: "1700000000:1:2"},
		{Path: "pair/y", Update: "1700000000:1"},
		{Path: "early", TimeUs: 1_700_000_000, Values: float(1)},
		{Path: "none", TimeUs: 1_700_000_000e6},
		{Path: "word", Update: "1700000000:abc"}, // it made its series before its value was looked at
		{Path: "typed", TimeUs: 1_700_000_000e6, Values: []*rondov1.Value{{Value: &rondov1.Value_Text{Text: "abc"}}}},
		{Path: "before", TimeUs: -5, Values: float(1)},
		{Path: "before", Update: "1:1"},
		{Path: "../bad", Update: "1700000000:1"},
		{Path: "text", Update: "yesterday:1"},
		{Ref: 1 << 50, Update: "1700000000:1"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if w.GetAccepted() != 3 || w.GetLate() != 1 || w.GetRefused() != 10 || w.GetCreated() != 3 {
		t.Errorf("%v", w)
	}
	for path, want := range map[string]string{
		"fine/a": "10 DS:value:GAUGE:40:U:U RRA:MAX:0.5:1:360 web1",
		"plain":  "300 DS:value0:GAUGE:600:U:U DS:value1:GAUGE:600:U:U RRA:AVERAGE:0.1:1:1200",
		"pair/x": "60 DS:in:COUNTER:120:0:U DS:out:COUNTER:120:0:U RRA:AVERAGE:0.1:1:1200",
	} {
		info, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: path})
		if err != nil {
			t.Error(err)
			continue
		}
		text := info.GetSeries().String()
		for word := range strings.FieldsSeq(want) {
			if !strings.Contains(text, word) {
				t.Errorf("%s lacks %s: %s", path, word, text)
			}
		}
	}
	for _, m := range []*rondov1.WriteRequest{
		{Definition: &rondov1.Definition{Step: 10}},
		{Create: true, Definition: &rondov1.Definition{Step: -1}},
		{Create: true, Definition: &rondov1.Definition{Ds: []string{"nonsense"}}},
		{Create: true, Definition: &rondov1.Definition{Rra: []string{"nonsense"}}},
	} {
		if _, err := c.Write(t.Context(), m); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v", m, err)
		}
	}
	own := &rondov1.Definition{Step: 20, Ds: []string{"DS:x:COUNTER:40:0:U"}, Rra: []string{"RRA:LAST:0.5:20s:1h"}}
	w, err = c.Write(t.Context(), &rondov1.WriteRequest{Create: true, Definition: own, Samples: []*rondov1.Sample{
		{Path: "own", Update: "1700000000:5"}, {Path: "pair/own", Update: "1700000000:5"}, {Path: "fine/own", Update: "1700000000:5"},
	}})
	if err != nil || w.GetAccepted() != 2 || w.GetRefused() != 1 {
		// the archive of 20 s does not go with the policy's step of 60 s; the one of 10 s has
		// archives
		t.Errorf("%v, %v", w, err)
	}
	w, err = c.Write(t.Context(), &rondov1.WriteRequest{Samples: []*rondov1.Sample{{Path: "unasked", Update: "1700000000:5"}}})
	if err != nil || w.GetRefused() != 1 || w.GetCreated() != 0 {
		t.Errorf("without create: %v, %v", w, err)
	}
}
