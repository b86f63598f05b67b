package rpc_test

import (
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// TestSetMetadata: metadata could be read by RPC, and set by receivers only.
func TestSetMetadata(t *testing.T) {
	_, url := serve(t)
	c := client(t, url, false)
	set := func(ms ...*typesv1.Metadata) *rondov1.SetMetadataResponse {
		t.Helper()
		r, err := c.SetMetadata(t.Context(), &rondov1.SetMetadataRequest{Metadata: ms})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	units := []*typesv1.Label{{Name: "units", Value: "W"}, {Name: "description", Value: "power"}}
	got := set(
		&typesv1.Metadata{Path: "a", Text: "on", Attributes: units, Expire: 60},
		&typesv1.Metadata{Path: "b", TimeUs: 1_699_999_000},
		&typesv1.Metadata{Text: "x"},
		&typesv1.Metadata{Path: "c", Expired: true},
		&typesv1.Metadata{Path: "d", Expire: -1},
		&typesv1.Metadata{Path: "e", Text: "later", TimeUs: (epoch + 7200) * 1e6},
		&typesv1.Metadata{Path: "../f", Text: "x"},
		&typesv1.Metadata{Path: "g", Text: "now"},
		&typesv1.Metadata{Path: "h", Text: "1970", TimeUs: 1_699_999_000},
	)
	// b, which has a time and nothing else, loses what it does not have.
	if got.GetAccepted() != 3 || len(got.GetRejections()) != 6 {
		t.Errorf("%v", got)
	}
	for i, want := range []string{"no path", "expired is not", "expire -1", "ahead", "", "counts microseconds"} {
		if r := got.GetRejections()[i]; r.GetIndex() != []int64{2, 3, 4, 5, 6, 8}[i] || !strings.Contains(r.GetError(), want) {
			t.Errorf("rejection %v, want %q", r, want)
		}
	}
	all := func() string {
		r, err := c.Metadata(t.Context(), &rondov1.MetadataRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return r.String()
	}
	page := &rondov1.MetadataResponse{Metadata: []*typesv1.Metadata{
		{Path: "a", TimeUs: epoch * 1e6, Text: "on", Attributes: []*typesv1.Label{units[1], units[0]}, Expire: 60},
		{Path: "g", TimeUs: epoch * 1e6, Text: "now"},
	}}
	if strings.ReplaceAll(all(), " ", "") != strings.ReplaceAll(page.String(), " ", "") {
		t.Errorf("metadata is %s, want %v", all(), page)
	}
	set(&typesv1.Metadata{Path: "a"}, &typesv1.Metadata{Path: "g"})
	if all() != "" {
		t.Errorf("metadata that was taken away: %s", all())
	}
	if _, err := c.SetMetadata(t.Context(), &rondov1.SetMetadataRequest{Metadata: make([]*typesv1.Metadata, 10_001)}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("10,001 paths: %v", err)
	}
}
