package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A section is one chart of a page, as pictures.
type section struct {
	Title  string
	Images []image
	Text   string // in place of images
}

// A view is the range that a page shows.
type view struct {
	from, to string
	row      bool // all spans side by side
}

// viewOf reads the range of an address; the last day if it has none.
func viewOf(q url.Values) view {
	from, to := named(clean(q.Get("from")), clean(q.Get("to")), time.Now().UTC())
	v := view{from, to, q.Get("row") == "all"}
	if v.from == "" && v.to == "" {
		v.from = "-1day"
	}
	return v
}

// maxChartLink bounds the address of a picture in a page. Longer ones do not fit into a request.
const maxChartLink = 48 << 10

// host is the page of a folder of series: its charts, and what is below it.
func (s *Server) host(r *http.Request, path string) *page {
	ctx, q := r.Context(), r.URL.Query()
	path, v, at := clean(path), viewOf(q), pathLink("host", clean(path))
	data := struct {
		Path, Problem, Next string
		Choices             []choice
		Charts              []section
		Nodes               []*rondov1.TreeNode
		More                bool
	}{Path: path, Choices: choices(at, v.from, v.row)}
	p, prefix := &page{title: path + " · rondo", name: "host"}, strings.TrimRight(path, "/")
	answer, err := begin(ctx, p, "Charts", s.RPC.Charts, &rondov1.ChartsRequest{Prefix: prefix, Page: clean(q.Get("page"))})
	data.Problem = problem(err)
	for _, c := range answer.GetCharts() {
		if all := images(c.GetTitle(), c.GetArg(), v.from, v.to, v.row); len(all[0].Link) <= maxChartLink {
			data.Charts = append(data.Charts, section{Title: c.GetTitle(), Images: all})
		}
	}
	if next := answer.GetNextPage(); next != "" {
		q.Set("page", next)
		data.Next = at + "?" + q.Encode()
	}
	tree, err := begin(ctx, p, "Tree", s.RPC.Tree, &rondov1.TreeRequest{Prefix: prefix, Limit: hostNodes})
	if err != nil && data.Problem == "" {
		data.Problem = problem(err)
	}
	data.Nodes, data.More = tree.GetNodes(), tree.GetNextPage() != ""
	if err == nil && len(data.Nodes) == 0 && len(data.Charts) == 0 {
		p.code, data.Choices, data.Problem = http.StatusNotFound, nil, "There is no series below this path."
	}
	p.data = data
	return p
}
