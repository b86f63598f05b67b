package servertest

import (
	"math"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestQueryByRPC: PromQL was to be had by Prometheus' API only.
func TestQueryByRPC(t *testing.T) {
	r := start(t, server.Config{HTTP: anyPorts})
	c := dial(t, r.url(""))
	_, err := c.Write(t.Context(), &rondov1.WriteRequest{
		Create: true, Definition: &rondov1.Definition{Step: 10},
		Samples: []*rondov1.Sample{
			{Path: "up", Update: "1700000010:1", Labels: []*typesv1.Label{{Name: "__name__", Value: "up"}, {Name: "host", Value: "web1"}}},
			{Path: "up", Update: "1700000020:2"},
			{Path: "up", Update: "1700000030:4"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(m *rondov1.QueryRequest) (*rondov1.QueryResponse, error) {
		return c.Query(t.Context(), m)
	}
	m, err := ask(&rondov1.QueryRequest{Query: "up * 10", Time: "1700000030"})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.GetSeries(); m.GetType() != "vector" || len(s) != 1 || s[0].GetLabels()[0].GetValue() != "web1" || s[0].GetValues()[0] != 40 || s[0].GetTimesUs()[0] != 1700000030e6 {
		t.Errorf("%v", m)
	}
	m, err = ask(&rondov1.QueryRequest{Query: "up", Start: "1700000020", End: "1700000030.5", Step: 10})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.GetSeries(); m.GetType() != "matrix" || len(s) != 1 || len(s[0].GetValues()) != 2 || s[0].GetValues()[1] != 4 || s[0].GetTimesUs()[1] != 1700000030e6 {
		t.Errorf("%v", m)
	}
	for query, kind := range map[string]string{"1 + 1": "scalar", `"text"`: "string"} {
		m, err := ask(&rondov1.QueryRequest{Query: query, Time: "1700000030.25"})
		if err != nil || m.GetType() != kind || kind == "string" && m.GetText() != "text" || kind == "scalar" && m.GetSeries()[0].GetValues()[0] != 2 {
			t.Errorf("%s: %v, %v", query, m, err)
		}
	}
	m, err = ask(&rondov1.QueryRequest{Query: `label_replace(up, "x", "1", "", "") or up`, Time: "1700000030", Limit: 1})
	if err != nil || len(m.GetSeries()) != 1 || len(m.GetWarnings()) != 1 || !strings.Contains(m.GetWarnings()[0], "limit") {
		t.Errorf("with a limit: %v, %v", m, err)
	}
	for _, bad := range []*rondov1.QueryRequest{
		{},
		{Query: "up("},
		{Query: "up", Time: "x"},
		{Query: "up", Limit: -1},
		{Query: "up", Step: -1},
		{Query: "up", Step: math.NaN()},
		{Query: "up", Step: 1e-9},
		{Query: "up", Lookback: -1},
		{Query: "up", Start: "now"},
		{Query: "up", Step: 1, Time: "now"},
		{Query: "up", Step: 1, Start: "now", End: "now-1h"},
		{Query: "up", Step: 1, Start: "now-1d"},
		{Query: `up and on (host) group_left up`},
		{Query: "sum(up) / on (a) up / sum by (b) (up) + ignoring (c) vector(1) + up[5m]"},
	} {
		if m, err := ask(bad); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v, %v", bad, m, err)
		}
	}
	if counted := metric(t, r, `rondo_promql_requests_total{outcome="failed"}`); counted == 0 {
		t.Error("queries by RPC are not counted")
	}
}
