package rpc_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// latest returns the path, the end and the level of each series in an answer of Latest.
func latest(t *testing.T, c rondov1.RondoClient, req *rondov1.LatestRequest) (lines []string, next string) {
	t.Helper()
	r, err := c.Latest(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.GetSeries() {
		var line strings.Builder
		line.WriteString(fmt.Sprintf("%s %d+%d", s.GetPath(), s.GetEnd(), s.GetStep()))
		for _, col := range s.GetColumns() {
			if col.GetDs() == "level" {
				line.WriteString(fmt.Sprint(" ", col.GetValues()))
			}
		}
		lines = append(lines, line.String())
	}
	return lines, r.GetNextPage()
}

// Whoever watches many series had to ask for each of them.
func TestLatestGivesRowsOfManySeries(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	for i := range int64(5) {
		path := fmt.Sprintf("web%d/load", i)
		create(t, c, path)
		for j := range 10 + i {
			write(t, c, &rondov1.Sample{Path: path, Update: fmt.Sprintf("%d:%d:%d", 1699999010+10*j, 100*j, j)})
		}
	}
	create(t, c, "web9/silent")

	got, next := latest(t, c, &rondov1.LatestRequest{Prefix: "web", Rows: 3, Limit: 4})
	want := []string{
		"web0/load 1699999100+10 [7 8 9]", "web1/load 1699999110+10 [8 9 10]",
		"web2/load 1699999120+10 [9 10 11]", "web3/load 1699999130+10 [10 11 12]",
	}
	if diff := cmp.Diff(want, got); diff != "" || next != "web3/load" {
		t.Errorf("first page, next %q:\n%s", next, diff)
	}
	got, next = latest(t, c, &rondov1.LatestRequest{Prefix: "web", Limit: 4, Page: next})
	if diff := cmp.Diff([]string{"web4/load 1699999140+10 [13]", "web9/silent 1699999000+10 [NaN]"}, got); diff != "" || next != "" {
		t.Errorf("second page, next %q:\n%s", next, diff)
	}
	// since_us leaves series out, and they count in the page.
	got, next = latest(t, c, &rondov1.LatestRequest{Limit: 4, SinceUs: 1699999110_000_000})
	if diff := cmp.Diff([]string{"web2/load 1699999120+10 [11]", "web3/load 1699999130+10 [12]"}, got); diff != "" || next != "web3/load" {
		t.Errorf("since, next %q:\n%s", next, diff)
	}
	got, _ = latest(t, c, &rondov1.LatestRequest{Paths: []string{"web3/load", "nosuch", "web0/load"}})
	if diff := cmp.Diff([]string{"web3/load 1699999130+10 [12]", "web0/load 1699999100+10 [9]"}, got); diff != "" {
		t.Error(diff)
	}
}

// The newest rows come from the finest archive, of AVERAGE if there is one. A series without plain
// rows has none.
func TestLatestTakesTheFinestArchive(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	for path, archives := range map[string][]string{
		"a": {"RRA:MAX:0.5:1:10", "RRA:AVERAGE:0.5:3:10", "RRA:AVERAGE:0.5:2:10"},
		"b": {"RRA:MAX:0.5:4:10", "RRA:MIN:0.5:1:10"},
		"c": {"RRA:HWPREDICT:10:0.1:0.1:4"},
	} {
		_, err := c.Create(t.Context(), &rondov1.CreateRequest{
			Path: path, Start: "1699999000", Definition: &rondov1.Definition{Step: 10, Ds: []string{"DS:x:GAUGE:20:U:U"}, Rra: archives},
		})
		if err != nil {
			t.Fatal(err)
		}
		write(t, c, &rondov1.Sample{Path: path, Update: "1699999010:1"}, &rondov1.Sample{Path: path, Update: "1699999020:3"})
	}
	r, err := c.Latest(t.Context(), &rondov1.LatestRequest{Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]float64)
	for _, s := range r.GetSeries() {
		for _, col := range s.GetColumns() {
			got[fmt.Sprint(s.GetPath(), s.GetStep())] = col.GetValues()
		}
	}
	want := map[string][]float64{"a20": {math.NaN(), 2}, "b10": {1, 3}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

func TestLatestIsBounded(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	for _, req := range []*rondov1.LatestRequest{
		{Rows: -1},
		{Rows: 65},
		{Limit: -1},
		{Paths: make([]string, 1001)},
	} {
		if _, err := c.Latest(t.Context(), req); connect.CodeOf(err) != connect.CodeInvalidArgument {
			t.Errorf("%v: %v, want invalid_argument", req, err)
		}
	}
}

// Newest rows and Info say the unit of the rows: as the sender says, or by type and name. What a
// chart would convert stays in the unit that is stored.
func TestNewestRowsHaveUnits(t *testing.T) {
	s, url := serve(t)
	c := client(t, url, false)
	for path, want := range map[string]string{
		"collectd/web1/memory/memory-used": "B", "node_memory_MemFree_bytes": "B", "room/celsius": "°C", "disk/total": "KB", "x": "",
	} {
		create(t, c, path)
		write(t, c, &rondov1.Sample{Path: path, Update: "1699999010:100:1"})
		if attributes := map[string]string{"room/celsius": "degC", "disk/total": "KB"}; attributes[path] != "" {
			m := core.Metadata{Time: 1, Attributes: []core.Label{{Name: "units", Value: attributes[path]}}}
			if _, err := s.SetMetadata(t.Context(), []core.PathMetadata{{Path: path, Metadata: m}}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := c.Latest(t.Context(), &rondov1.LatestRequest{Paths: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		info, err := c.Info(t.Context(), &rondov1.InfoRequest{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		row, state := r.GetSeries()[0].GetColumns()[1].GetUnit(), info.GetSources()[1].GetUnit()
		if row != want || state != want {
			t.Errorf("%s: unit %q of the row, %q of the state, want %q", path, row, state, want)
		}
	}
}
