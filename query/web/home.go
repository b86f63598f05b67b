package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
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

// A homePage is what the plain home shows.
type homePage struct {
	Query, Problem     string
	Filter, Pin        string
	Columns            []choice
	Hosts              []*rondov1.Host
	Domain, Next, Less string
	Hits               []*rondov1.SearchHit
	More               bool
	Boards             []*rondov1.DashboardEntry
}

// hostColumns are the columns of the table of hosts by their names in an address.
var hostColumns = [][2]string{
	{"name", "Host"},
	{"seen", "Last seen"},
	{"cpu", "CPU"},
	{"load", "Load per core"},
	{"memory", "Memory"},
	{"disk", "Fullest disk"},
	{"in", "In"},
	{"out", "Out"},
	{"pin", "Column"},
	{"alerts", "Alerts"},
}

// home is the page at /: hosts and dashboards, or the hits of a search.
func (s *Server) home(r *http.Request) *page {
	ctx, q := r.Context(), r.URL.Query()
	data := homePage{Query: clean(q.Get("q")), Filter: clean(q.Get("f")), Pin: clean(q.Get("pin"))}
	p := &page{title: "rondo", name: "home"}
	if data.Query != "" {
		found, err := s.RPC.Search(ctx, &rondov1.SearchRequest{Text: data.Query, Limit: plainHits})
		data.Hits, data.More, data.Problem = found.GetHits(), found.GetMore(), problem(err)
	} else {
		offset, _ := strconv.ParseInt(q.Get("offset"), 10, 31) // what is no number is the first page
		ask := &rondov1.HostsRequest{
			Filter: data.Filter, Sort: clean(q.Get("sort")), Pin: data.Pin, Offset: int32(max(0, offset)), Limit: homeNodes,
			Sparks: q.Get("view") == "cards" || data.Pin != "",
		}
		answer, err := begin(ctx, p, "Hosts", s.RPC.Hosts, ask)
		data.Hosts, data.Domain, data.Problem = answer.GetHosts(), answer.GetDomain(), problem(err)
		if next := int64(ask.GetOffset()) + homeNodes; next < answer.GetTotal() {
			data.Next = homeLink(q, "offset", strconv.FormatInt(next, 10))
		}
		for _, c := range hostColumns {
			if c[0] == "pin" && data.Pin == "" {
				continue
			}
			by := c[0]
			if by == cmp.Or(ask.GetSort(), "name") {
				by = "-" + by
			}
			data.Columns = append(data.Columns, choice{Name: c[1], Link: homeLink(q, "sort", by), On: strings.TrimPrefix(cmp.Or(ask.GetSort(), "name"), "-") == c[0]})
		}
	}
	boards, err := s.RPC.Dashboards(ctx, &rondov1.DashboardsRequest{})
	data.Boards, data.Problem = boards.GetDashboards(), cmp.Or(data.Problem, problem(err))
	p.data = data
	return p
}

// homeLink returns the address of home with another value for a key.
func homeLink(q url.Values, key, value string) string {
	next := url.Values{key: {value}}
	for _, k := range []string{"f", "pin", "sort"} {
		if v := q.Get(k); v != "" && k != key {
			next.Set(k, clean(v))
		}
	}
	return "/?" + next.Encode()
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
	data.Report, _ = s.RPC.Status(r.Context(), &rondov1.StatusRequest{})
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
