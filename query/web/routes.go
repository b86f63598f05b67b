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
	_ = shell.Execute(w, struct {
		Title, Base string
		Modules     []string
		Plain       template.HTML
	}{p.title, builtIn().base(), builtIn().modules(r.URL.Path), p.plain()}) // the client may be gone
}

// find returns the page of a request.
func (s *Server) find(r *http.Request) *page {
	first, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !utf8.ValidString(r.URL.Path):
	case first == "" && rest == "":
		return s.home(r)
	case first == "host" && rest != "":
		return s.host(r, rest)
	case first == "series" && rest != "":
		return s.series(r, rest)
	case first == "dashboard" && rest != "":
		return s.board(r, rest)
	case first == "dashboards" && rest == "", first == "dashboard":
		return s.boards(r)
	case first == "workbench" && rest == "":
		return s.workbench(r)
	case first == "status" && rest == "":
		return s.status(r)
	}
	return &page{title: "no such page", code: http.StatusNotFound, name: "missing", data: clean(r.URL.Path)}
}
