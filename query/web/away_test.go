package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/web"
)

// A page whose series are out of reach is asked for again later: it is no mistake of its address.
func TestSeriesOutOfReach(t *testing.T) {
	s, store := newServer(t)
	create(t, store, "net/eth0")
	s.Store = enginetest.Away(store, func() bool { return true })
	w, body := ask(t, s, http.MethodGet, web.UpdatesPath+"?start=1")
	if w.StatusCode != http.StatusServiceUnavailable || w.Header.Get("Retry-After") == "" || !strings.Contains(body, "try again") {
		t.Errorf("the answer is %d, %v: %s", w.StatusCode, w.Header, body)
	}
}

// A page whose series, notes or dashboards cannot be had now says so, and does not show that there
// are none.
func TestPagesSayWhatIsOutOfReach(t *testing.T) {
	s, store := newServer(t)
	create(t, store, "net/eth0")
	away := enginetest.Away(store, func() bool { return true })
	s.RPC = &rpc.Server{Store: away}
	if w, body := ask(t, s, http.MethodGet, "/series/net/eth0"); w.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "try again") {
		t.Errorf("the page of a series: %d, %s", w.StatusCode, body)
	}
	for _, path := range []string{"/", "/?q=net", "/host/net"} {
		if _, body := ask(t, s, http.MethodGet, path); !strings.Contains(body, "try again") {
			t.Errorf("%s: %s", path, body)
		}
	}
	s.RPC = &lonely{rpc.Server{Store: store}}
	for _, path := range []string{"/", "/series/net/eth0"} {
		if _, body := ask(t, s, http.MethodGet, path); !strings.Contains(body, "try again") {
			t.Errorf("%s without notes and dashboards: %s", path, body)
		}
	}
}

// A lonely service has series, and neither notes nor dashboards.
type lonely struct{ rpc.Server }

func (*lonely) Notes(context.Context, *rondov1.NotesRequest) (*rondov1.NotesResponse, error) {
	return nil, connect.NewError(connect.CodeUnavailable, enginetest.ErrAway)
}

func (*lonely) Dashboards(context.Context, *rondov1.DashboardsRequest) (*rondov1.DashboardsResponse, error) {
	return nil, connect.NewError(connect.CodeUnavailable, enginetest.ErrAway)
}
