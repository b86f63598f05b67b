package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"

	"github.com/rondo-db/rondo/query/dashboards"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// boards is the list of dashboards.
func (s *Server) boards(r *http.Request) *page {
	answer, err := call(r.Context(), s.RPC.Dashboards, &rondov1.DashboardsRequest{})
	return &page{title: "dashboards · rondo", name: "boards", data: struct {
		Problem string
		Boards  []*rondov1.DashboardEntry
	}{problem(err), answer.GetDashboards()}}
}

// board is the page of one dashboard.
func (s *Server) board(r *http.Request, name string) *page {
	name, v := clean(name), viewOf(r.URL.Query())
	data := struct {
		Title, Problem, Text string
		Choices              []choice
		Charts               []section
	}{Title: name}
	p := &page{title: name + " · rondo", name: "board"}
	answer, err := call(r.Context(), s.RPC.Dashboard, &rondov1.DashboardRequest{Name: name})
	if err != nil {
		p.code, data.Problem = codeOf(err), problem(err)
		p.data = data
		return p
	}
	if answer.GetTitle() != "" {
		data.Title = answer.GetTitle()
	}
	data.Problem = answer.GetProblem()
	if data.Problem != "" {
		data.Text = answer.GetText()
	}
	data.Choices = choices(pathLink("dashboard", name), v.from, v.row)
	for i, g := range answer.GetGraphs() {
		all := images(cmp.Or(g.GetTitle(), name), nil, v.from, v.to, v.row)
		for k := range all {
			all[k].Link += "&dashboard=" + url.QueryEscape(name) + "&graph=" + strconv.Itoa(i+1)
		}
		data.Charts = append(data.Charts, section{g.GetTitle(), all})
	}
	p.data = data
	return p
}

// workbench draws the graph in its address.
func (s *Server) workbench(r *http.Request) *page {
	q := r.URL.Query()
	v := viewOf(q)
	data := struct {
		Text, From, To, Problem string
		Images                  []image
	}{From: v.from, To: v.to}
	if text := q.Get("g"); text != "" && len(text) <= maxChartLink {
		data.Text = text
		switch g, err := dashboards.Parse("graph:\n" + text); {
		case err != nil:
			data.Problem = err.Error()
		case len(g.Graphs) == 1:
			data.Images = images("the workbench", g.Graphs[0].Args, v.from, v.to, false)
		}
	}
	return &page{title: "workbench · rondo", name: "workbench", data: data}
}
