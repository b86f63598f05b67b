package web

import (
	"html/template"
	"net/http"
	"strings"
	"unicode/utf8"
)

// page answers the request for a page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	p := s.find(r)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	if p.code != 0 {
		w.WriteHeader(p.code)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	f, ok := frames()[first]
	if !ok {
		f = frame{modules: []string{"main.js"}}
	}
	_ = shell().Execute(w, struct {
		Title, Base     string
		Modules, Sheets []string
		Plain           template.HTML
		Answers         template.JS
	}{p.title, base(), f.modules, f.sheets, p.plain(), written(p.answers)}) // the client may be gone
}

// find returns the page of a request.
func (s *Server) find(r *http.Request) *page {
	if show, rest := s.route(r.URL.Path); show != nil {
		return show(r, rest)
	}
	return &page{title: "no such page", code: http.StatusNotFound, name: "missing", data: clean(r.URL.Path)}
}

// route returns what makes the page of a path, and the part of the path that names a host, a series
// or a dashboard. It returns nil if no page has the path.
func (s *Server) route(path string) (show func(*http.Request, string) *page, rest string) {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	alone := func(show func(*http.Request) *page) func(*http.Request, string) *page {
		return func(r *http.Request, _ string) *page { return show(r) }
	}
	switch {
	case !utf8.ValidString(path):
	case first == "" && rest == "":
		return alone(s.home), ""
	case first == "host" && rest != "":
		return s.host, rest
	case first == "series" && rest != "":
		return s.series, rest
	case first == "dashboard" && rest != "":
		return s.board, rest
	case first == "dashboards" && rest == "", first == "dashboard":
		return alone(s.boards), ""
	case first == "workbench" && rest == "":
		return alone(s.workbench), ""
	case first == "status" && rest == "":
		return alone(s.status), ""
	}
	return nil, ""
}
