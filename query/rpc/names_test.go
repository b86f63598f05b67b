package rpc_test

import (
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/rra"
)

func TestSearchTreeAndCharts(t *testing.T) {
	store, url := serve(t)
	c := client(t, url, false)
	for _, p := range []string{"collectd/web1/net/a", "collectd/web1/net/b", "collectd/web2/net/a", "top"} {
		create(t, c, p, &typesv1.Label{Name: "room", Value: "Cellar"})
	}
	found, err := c.Search(t.Context(), &rondov1.SearchRequest{Text: "web1 CELLAR net/a"})
	if err != nil {
		t.Fatal(err)
	}
	hits := found.GetHits()
	if len(hits) != 1 || hits[0].GetPath() != "collectd/web1/net/a" || hits[0].GetLabels()[0].GetValue() != "Cellar" || found.GetMore() {
		t.Errorf("search: %v", found)
	}
	if found, err = c.Search(t.Context(), &rondov1.SearchRequest{Text: "net", Limit: 2}); err != nil || !found.GetMore() || found.GetFound() <= 2 || len(found.GetHits()) != 2 || !found.GetHits()[0].GetFolder() {
		t.Errorf("two of many: %v, %v", found, err)
	}
	var got []string
	for page := ""; ; {
		r, err := c.Tree(t.Context(), &rondov1.TreeRequest{Limit: 1, Page: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range r.GetNodes() {
			got = append(got, fmt.Sprint(n.GetPath(), " ", n.GetSeries(), " ", n.GetIsSeries(), n.GetIsFolder(), " ", n.GetSparkPath(), ":", n.GetSparkDs(), " of ", r.GetTotal()))
		}
		if page = r.GetNextPage(); page == "" {
			break
		}
	}
	want := []string{
		"collectd/web1 2 false true collectd/web1/net/a:in of 3",
		"collectd/web2 1 false true collectd/web2/net/a:in of 3",
		"top 1 true false top:in of 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	got = nil
	for page := ""; ; {
		r, err := c.Charts(t.Context(), &rondov1.ChartsRequest{Prefix: "/collectd/web1/", Limit: 1, Page: page})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range r.GetCharts() {
			got = append(got, fmt.Sprintf("%s %s %d", x.GetId(), x.GetTitle(), len(x.GetLines())))
		}
		if page = r.GetNextPage(); page == "" {
			break
		}
	}
	want = []string{"collectd/web1/net/a A 1", "collectd/web1/net/a@1 per s A per second 1", "collectd/web1/net/b B 1", "collectd/web1/net/b@1 per s B per second 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("charts (-want +got):\n%s", diff)
	}
	if store.Stats().MemoryBytes == 0 {
		t.Error("the index is not charged")
	}
}

func TestSearchTreeAndChartsRefuse(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	create(t, c, "a")
	ctx := t.Context()
	search := func(m *rondov1.SearchRequest) error {
		_, err := c.Search(ctx, m)
		return err
	}
	tree := func(m *rondov1.TreeRequest) error {
		_, err := c.Tree(ctx, m)
		return err
	}
	chart := func(m *rondov1.ChartsRequest) error {
		_, err := c.Charts(ctx, m)
		return err
	}
	for _, tt := range []struct {
		err  error
		code connect.Code
		text string
	}{
		{search(&rondov1.SearchRequest{Text: "a", Limit: -1}), connect.CodeInvalidArgument, "limit -1"},
		{search(&rondov1.SearchRequest{Text: "1 2 3 4 5 6 7 8 9"}), connect.CodeInvalidArgument, "more than 8 words"},
		{search(&rondov1.SearchRequest{Text: strings.Repeat("a", 300)}), connect.CodeInvalidArgument, "a word of 300 bytes"},
		{tree(&rondov1.TreeRequest{Limit: -1}), connect.CodeInvalidArgument, "limit -1"},
		{tree(&rondov1.TreeRequest{Page: "9 x"}), connect.CodeInvalidArgument, "not a next page"},
		{tree(&rondov1.TreeRequest{Prefix: "nosuch"}), connect.CodeNotFound, `"nosuch": no series has this path`},
		{chart(&rondov1.ChartsRequest{Prefix: "nosuch"}), connect.CodeNotFound, `no series is "nosuch" or below it`},
		{chart(&rondov1.ChartsRequest{Prefix: "a", Limit: -1}), connect.CodeInvalidArgument, "limit -1"},
		{chart(&rondov1.ChartsRequest{Prefix: "a", Page: "-1"}), connect.CodeInvalidArgument, "not a next_page"},
	} {
		if connect.CodeOf(tt.err) != tt.code || !strings.Contains(tt.err.Error(), tt.text) {
			t.Errorf("got %v, want %v: …%s…", tt.err, tt.code, tt.text)
		}
	}
}

// TestChartsCountDataSources: a series may have many data sources, and each is a line.
func TestChartsCountDataSources(t *testing.T) {
	store, url := serve(t)
	c := client(t, url, false)
	text := []string{"RRA:AVERAGE:0.5:1:1"}
	for i := range 400 {
		text = append(text, fmt.Sprintf("DS:d%d:GAUGE:20:U:U", i))
	}
	d, err := rra.ParseDefinition(10, text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 26 { // 25 series have 10,000 data sources
		if _, err := store.Create(t.Context(), core.Spec{Path: fmt.Sprintf("h/%02d", i), Definition: d}); err != nil {
			t.Fatal(err)
		}
		_, err := c.Charts(t.Context(), &rondov1.ChartsRequest{Prefix: "h"})
		if i == 24 && err != nil || i == 25 && connect.CodeOf(err) != connect.CodeResourceExhausted {
			t.Errorf("with %d data sources: %v", 400*(i+1), err)
		}
	}
}
