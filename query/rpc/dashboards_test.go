package rpc_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/rpc"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// serveDashboards serves the dashboards of a new database.
func serveDashboards(t *testing.T, db string, maySave bool) rondov1.RondoClient {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle((&rpc.Server{Store: enginetest.Open(t), Pages: dashboards.In(db), MaySave: maySave}).Handler(nil))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return client(t, h.URL, false)
}

func TestDashboards(t *testing.T) {
	db := t.TempDir()
	c := serveDashboards(t, db, true)
	ctx := t.Context()
	text := "title: Web\ngraph: Load\nLINE:5#f00:five \n"
	if _, err := c.SaveDashboard(ctx, &rondov1.SaveDashboardRequest{Name: "web", Text: text}); err != nil {
		t.Fatal(err)
	}
	list, err := c.Dashboards(ctx, &rondov1.DashboardsRequest{})
	if err != nil || !list.GetMaySave() || len(list.GetDashboards()) != 1 || list.GetDashboards()[0].GetTitle() != "Web" {
		t.Fatalf("got %v, %v", list, err)
	}
	one, err := c.Dashboard(ctx, &rondov1.DashboardRequest{Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	if one.GetText() != text || one.GetTitle() != "Web" || len(one.GetGraphs()) != 1 || one.GetGraphs()[0].GetArg()[0] != "LINE:5#f00:five " || one.GetProblem() != "" {
		t.Errorf("got %v", one)
	}
	for _, tt := range []struct {
		name, text string
		code       connect.Code
		want       string
	}{
		{"web", "LINE:1", connect.CodeInvalidArgument, "line 1"},
		{"../web", text, connect.CodeInvalidArgument, "name"},
		{"", text, connect.CodeInvalidArgument, "name"},
	} {
		_, err := c.SaveDashboard(ctx, &rondov1.SaveDashboardRequest{Name: tt.name, Text: tt.text})
		if connect.CodeOf(err) != tt.code || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("save %q %q: %v", tt.name, tt.text, err)
		}
	}
	if _, err := c.Dashboard(ctx, &rondov1.DashboardRequest{Name: "nosuch"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := c.DropDashboard(ctx, &rondov1.DropDashboardRequest{Name: "web"}); err != nil {
		t.Error(err)
	}
	if _, err := c.DropDashboard(ctx, &rondov1.DropDashboardRequest{Name: "web"}); connect.CodeOf(err) != connect.CodeNotFound {
		t.Errorf("dropped twice: %v", err)
	}
}

// TestDashboardsAreChangedOnTheMachine: who reaches the port from another machine reads.
func TestDashboardsAreChangedOnTheMachine(t *testing.T) {
	db := t.TempDir()
	if err := dashboards.In(db).Save(t.Context(), "web", "title: Web"); err != nil {
		t.Fatal(err)
	}
	c := serveDashboards(t, db, false)
	if _, err := c.SaveDashboard(t.Context(), &rondov1.SaveDashboardRequest{Name: "web"}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("save: %v", err)
	}
	if _, err := c.DropDashboard(t.Context(), &rondov1.DropDashboardRequest{Name: "web"}); connect.CodeOf(err) != connect.CodePermissionDenied {
		t.Errorf("drop: %v", err)
	}
	list, err := c.Dashboards(t.Context(), &rondov1.DashboardsRequest{})
	if err != nil || list.GetMaySave() || len(list.GetDashboards()) != 1 {
		t.Errorf("got %v, %v", list, err)
	}
}
