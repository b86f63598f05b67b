package rpc_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	bolt "go.etcd.io/bbolt"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
	"github.com/rondo-db/rondo/rra"
)

// A damaged entry of the catalogue ended a list with code internal. The other series are listed,
// then comes data_loss.
func TestListGoesPastDamage(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	store, err := core.Open(dir, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	def, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:LAST:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		spec := core.Spec{Path: fmt.Sprint("s", i), Definition: def, Start: rra.Seconds(1e9), Labels: []core.Label{{Name: "l", Value: "x"}}}
		if _, err := store.Create(ctx, spec); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Checkpoint(ctx); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := bolt.Open(filepath.Join(dir, "rondo.bolt"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Update(func(tx *bolt.Tx) error {
		for bucket, key := range map[string]string{"names": "s1", "series": "\x00\x00\x00\x01\x00\x00\x00\x02"} {
			if err := tx.Bucket([]byte(bucket)).Put([]byte(key), []byte("\x00\x00\x00\x01\x00\x00\x00\x02")); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if store, err = core.Open(dir, core.Options{}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: store, Now: time.Now}).Handler(nil))
	server := httptest.NewServer(mux)
	defer server.Close()
	c := client(t, server.URL, false)
	for _, tt := range []struct {
		req  *rondov1.ListRequest
		want string
	}{
		{&rondov1.ListRequest{Limit: 2}, "s0 s3 s4"},
		{&rondov1.ListRequest{Matchers: []*typesv1.Matcher{{Name: "l", Value: "x"}}}, "s0 s1 s3 s4"},
	} {
		var got []string
		var err error
		for err == nil {
			var page *rondov1.ListResponse
			if page, err = c.List(ctx, tt.req); err != nil {
				break
			}
			for _, s := range page.GetSeries() {
				got = append(got, s.GetPath())
			}
			if tt.req.Page = page.GetNextPage(); tt.req.Page == "" {
				break
			}
		}
		if connect.CodeOf(err) != connect.CodeDataLoss || strings.Join(got, " ") != tt.want {
			t.Errorf("%v: %v, %v; want %s and data_loss", tt.req, got, err, tt.want)
		}
	}
	// Latest left the damaged series out, and did not say so.
	latest := &rondov1.LatestRequest{Limit: 2}
	var got []string
	for err = nil; err == nil; {
		var page *rondov1.LatestResponse
		if page, err = c.Latest(ctx, latest); err != nil {
			break
		}
		for _, s := range page.GetSeries() {
			got = append(got, s.GetPath())
		}
		if latest.Page = page.GetNextPage(); latest.Page == "" {
			break
		}
	}
	if connect.CodeOf(err) != connect.CodeDataLoss || strings.Join(got, " ") != "s0 s3 s4" {
		t.Errorf("latest: %v, %v; want s0 s3 s4 and data_loss", got, err)
	}
}
