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
	answer, err := s.RPC.Dashboards(r.Context(), &rondov1.DashboardsRequest{})
	return &page{title: "dashboards · rondo", name: "boards", data: struct {
		Problem string
		Boards  []*rondov1.DashboardEntry
	}{problem(err), answer.GetDashboards()}}
}

// maxChoices is how many values of a variable a page without scripts offers.
const maxChoices = 1000

// A variable is a choice in the page of a dashboard.
type variable struct {
	Name, Key, Value string
	Values           []string
}

// variables returns what a page offers for its variables. The first value stands for one that the
// address lacks.
func (s *Server) variables(r *http.Request, names []string) (all []variable, err error) {
	for _, name := range names {
		answer, failed := s.RPC.Labels(r.Context(), &rondov1.LabelsRequest{Name: name})
		err = cmp.Or(err, failed)
		v := variable{Name: name, Key: variableKey + name, Value: clean(r.URL.Query().Get(variableKey + name)), Values: answer.GetValues()}
		v.Values = v.Values[:min(len(v.Values), maxChoices)]
		if v.Value == "" && len(v.Values) > 0 {
			v.Value = v.Values[0]
		}
		all = append(all, v)
	}
	return all, err
}

// board is the page of one dashboard.
func (s *Server) board(r *http.Request, name string) *page {
	name, v := clean(name), viewOf(r.URL.Query())
	data := struct {
		Title, Problem, Text string
		Choices              []choice
		Variables            []variable
		Charts               []section
	}{Title: name}
	p := &page{title: name + " · rondo", name: "board"}
	answer, err := s.RPC.Dashboard(r.Context(), &rondov1.DashboardRequest{Name: name})
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
	written, err := dashboards.Parse(answer.GetText())
	if err != nil { // that is the problem
		written = &dashboards.Page{}
	}
	values := make(url.Values)
	data.Variables, err = s.variables(r, written.Variables)
	data.Problem = cmp.Or(data.Problem, problem(err))
	for _, v := range data.Variables {
		values.Set(v.Key, v.Value)
	}
	at, more := pathLink("dashboard", name), "&dashboard="+url.QueryEscape(name)
	if len(values) > 0 {
		at, more = at+"?"+values.Encode(), more+"&"+values.Encode()
	}
	data.Choices = choices(at, v.from, v.row)
	for i, g := range written.Graphs {
		filled, err := written.Filled(g, variablesIn(values))
		if err != nil || g.Queries() {
			data.Charts = append(data.Charts, section{Title: filled.Title, Text: cmp.Or(problem(err), "PromQL is shown by the page with scripts.")})
			continue
		}
		all := images(cmp.Or(filled.Title, name), nil, v.from, v.to, v.row)
		for k := range all {
			all[k].Link += more + "&graph=" + strconv.Itoa(i+1)
		}
		data.Charts = append(data.Charts, section{Title: filled.Title, Images: all})
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
