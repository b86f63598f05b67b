package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// The sizes of plain pages. The script of the page asks for as many nodes.
const (
	homeNodes = 60   // hosts at home
	hostNodes = 200  // entries below a host
	plainHits = 100  // hits of a search
	plainRows = 20   // newest rows of a series
	maxQuery  = 4096 // bytes of a text in an address
)

// home is the page at /: hosts and dashboards, or the hits of a search.
func (s *Server) home(r *http.Request) *page {
	ctx, q := r.Context(), r.URL.Query()
	data := struct {
		Query, Problem, Next string
		Nodes                []*rondov1.TreeNode
		Hits                 []*rondov1.SearchHit
		More                 bool
		Boards               []*rondov1.DashboardEntry
	}{Query: clean(q.Get("q"))}
	p := &page{title: "rondo", name: "home"}
	if data.Query != "" {
		found, err := call(ctx, s.RPC.Search, &rondov1.SearchRequest{Text: data.Query, Limit: plainHits})
		data.Hits, data.More, data.Problem = found.GetHits(), found.GetMore(), problem(err)
	} else {
		sort := "activity"
		if q.Get("sort") == "name" {
			sort = "name"
		}
		tree, err := begin(ctx, p, "Tree", s.RPC.Tree, &rondov1.TreeRequest{Sort: sort, Limit: homeNodes, Page: clean(q.Get("page"))})
		data.Nodes, data.Next, data.Problem = tree.GetNodes(), tree.GetNextPage(), problem(err)
	}
	boards, err := call(ctx, s.RPC.Dashboards, &rondov1.DashboardsRequest{})
	data.Boards, data.Problem = boards.GetDashboards(), cmp.Or(data.Problem, problem(err))
	p.data = data
	return p
}

// clean returns a text of an address for a message, which must be UTF-8.
func clean(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxQuery)], "") }

// status is the page of the server itself.
func (s *Server) status(r *http.Request) *page {
	if err := access.From(r.Context()).NeedAll(); err != nil {
		return &page{title: "status · rondo", code: http.StatusForbidden, name: "refused", data: err.Error()}
	}
	st := s.Store.Stats()
	data := struct {
		Version, DB string
		Series      int64
		Samples     uint64
		Up          time.Duration
		Ways        []Way
		Report      *rondov1.StatusResponse
	}{Version: s.Version, DB: s.DB, Series: st.Series, Samples: st.SamplesAccepted, Up: time.Since(s.Started).Round(time.Second)}
	if s.Ways != nil {
		data.Ways = s.Ways()
	}
	// Without a report the page shows the rest.
	data.Report, _ = call(r.Context(), s.RPC.Status, &rondov1.StatusRequest{})
	return &page{title: "status · rondo", name: "status", data: data}
}

// alerts is the page of what rules say.
func (s *Server) alerts(r *http.Request) *page {
	p := &page{title: "alerts · rondo", name: "alerts"}
	if err := access.From(r.Context()).NeedAll(); err != nil {
		return &page{title: p.title, code: http.StatusForbidden, name: "refused", data: err.Error()}
	}
	answer, err := begin(r.Context(), p, "Alerts", s.RPC.Alerts, &rondov1.AlertsRequest{})
	p.data = struct {
		Problem string
		Alerts  []*rondov1.Alert
	}{problem(err), answer.GetAlerts()}
	return p
}
