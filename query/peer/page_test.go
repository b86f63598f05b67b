package peer_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/peer"
	"github.com/rondo-db/rondo/query/peer/peerv1"
	"github.com/rondo-db/rondo/rra"
)

// countedEngine counts what its lists yield. Behind damagedBehind entries it meets damage, and it
// tells of it at the end of the list, as a Store does.
type countedEngine struct {
	core.Engine
	yielded       atomic.Int64
	damagedBehind int64
	damaged       atomic.Bool
}

func (e *countedEngine) List(ctx context.Context, prefix, after string) iter.Seq2[core.Series, error] {
	return func(yield func(core.Series, error) bool) {
		for x, err := range e.Engine.List(ctx, prefix, after) {
			if n := e.yielded.Add(1); e.damagedBehind != 0 && n >= e.damagedBehind {
				e.damaged.Store(true)
			}
			if !yield(x, err) {
				return
			}
		}
		if e.damaged.Load() {
			yield(core.Series{}, fmt.Errorf("some are left out: %w", core.ErrDamaged))
		}
	}
}

func (e *countedEngine) Damaged() int64 {
	if e.damaged.Load() {
		return 1
	}
	return 0
}

// olderServer is a node that does not know how many entries a caller takes.
type olderServer struct{ *peer.Server }

func (s olderServer) Entries(ctx context.Context, req *connect.Request[peerv1.EntriesRequest], stream *connect.ServerStream[peerv1.EntriesResponse]) error {
	req.Msg.Most = 0
	return s.Server.Entries(ctx, req, stream)
}

// older serves e as a node of an older version does.
func older(t *testing.T, e core.Engine) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(peerv1.NewPeerHandler(olderServer{of(e)}))
	web := httptest.NewUnstartedServer(mux)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
	})
	return web
}

// pageStore has some series, and returns their paths in order.
func pageStore(t *testing.T) (core.Engine, []string) {
	t.Helper()
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	specs, paths := make([]core.Spec, 3000), make([]string, 3000)
	for i := range specs {
		paths[i] = fmt.Sprintf("s/%04d", i)
		specs[i] = core.Spec{Path: paths[i], Definition: d, Start: rra.Seconds(1000)}
	}
	if _, err := s.CreateBatch(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	return s, paths
}

// pathsOf returns the first paths of a list, at most most if that is not 0, and its error.
func pathsOf(seq iter.Seq2[core.Series, error], most int) (paths []string, err error) {
	for x, err := range seq {
		if err != nil {
			return paths, err
		}
		if paths = append(paths, x.Path); len(paths) == most {
			break
		}
	}
	return paths, nil
}

// A caller who says how many entries it takes gets them, and all others if it goes on. A node of
// this version reads as many as are taken.
func TestListOfAPage(t *testing.T) {
	s, paths := pageStore(t)
	for _, name := range []string{"this version", "an older version"} {
		e := &countedEngine{Engine: s}
		var web *httptest.Server
		if name == "this version" {
			web = serve(t, of(e))
		} else {
			web = older(t, e)
		}
		c := partition(t, web.URL, peer.Options{})
		for _, n := range []int{-1, 0, 1, 7, 600, len(paths) - 1, len(paths), len(paths) + 1} {
			ctx := core.Taking(t.Context(), n)
			if got, err := pathsOf(c.List(ctx, "s/", ""), 0); err != nil || !slices.Equal(got, paths) {
				t.Errorf("%s, %d are taken: who goes on gets %d of %d, %v", name, n, len(got), len(paths), err)
			}
			if got, err := pathsOf(c.List(ctx, "s/", "s/1000"), 0); err != nil || !slices.Equal(got, paths[1001:]) {
				t.Errorf("%s, %d are taken behind the first: who goes on gets %d, %v", name, n, len(got), err)
			}
			e.yielded.Store(0)
			most := max(n, 1)
			got, err := pathsOf(c.List(ctx, "s/", ""), most)
			if err != nil || !slices.Equal(got, paths[:min(most, len(paths))]) {
				t.Errorf("%s: %d of %d, %v", name, len(got), most, err)
			}
			if read := e.yielded.Load(); name == "this version" && n > 0 && read > int64(n) {
				t.Errorf("%d are taken, the node reads %d", n, read)
			}
		}
	}
}

// A node of an older version does not say how many it takes: it gets all.
func TestListForAnOlderNode(t *testing.T) {
	s, paths := pageStore(t)
	c := partition(t, serve(t, of(s)).URL, peer.Options{})
	if got, err := pathsOf(c.List(t.Context(), "", ""), 0); err != nil || !slices.Equal(got, paths) {
		t.Errorf("%d of %d, %v", len(got), len(paths), err)
	}
}

// A list tells of damage after everything else, wherever the store has met it.
func TestPageOfADamagedStore(t *testing.T) {
	s, paths := pageStore(t)
	for _, behind := range []int64{1, 50, 100, 101, 2999} {
		e := &countedEngine{Engine: s, damagedBehind: behind}
		c := partition(t, serve(t, of(e)).URL, peer.Options{})
		got, err := pathsOf(c.List(core.Taking(t.Context(), 100), "", ""), 0)
		if !errors.Is(err, core.ErrDamaged) || !slices.Equal(got, paths) {
			t.Errorf("damage behind entry %d: %d of %d entries, %v", behind, len(got), len(paths), err)
		}
	}
}

// endlessServer says that there is more, and sends nothing.
type endlessServer struct{ *peer.Server }

func (endlessServer) Entries(_ context.Context, _ *connect.Request[peerv1.EntriesRequest], stream *connect.ServerStream[peerv1.EntriesResponse]) error {
	return stream.Send(&peerv1.EntriesResponse{Standing: &peerv1.Standing{}, More: true})
}

func TestPagesOfNothingEnd(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle(peerv1.NewPeerHandler(endlessServer{of(nil)}))
	web := httptest.NewUnstartedServer(mux)
	web.Config.Protocols = new(http.Protocols)
	web.Config.Protocols.SetUnencryptedHTTP2(true)
	web.Start()
	t.Cleanup(web.Close)
	c := partition(t, web.URL, peer.Options{})
	if got, err := pathsOf(c.List(core.Taking(t.Context(), 5), "", ""), 0); err == nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
