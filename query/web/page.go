package web

import (
	"html/template"
	"net/http"
	"strings"
	"time"
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

// A page is what one address shows.
type page struct {
	title string
	code  int    // the status; 0 means 200
	name  string // of the template of the plain content
	data  any    // for the template
}

// plain returns the content for readers without script.
func (p *page) plain() template.HTML {
	var b strings.Builder
	if err := plain.ExecuteTemplate(&b, p.name, p.data); err != nil {
		return template.HTML("<p>" + template.HTMLEscapeString(err.Error()) + "</p>")
	}
	return template.HTML(b.String())
}

// find returns the page of a request.
func (s *Server) find(r *http.Request) *page {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch first {
	case "":
		return &page{title: "rondo", name: "home"}
	case "host", "series", "workbench", "dashboard", "dashboards":
		return &page{title: "rondo", name: "home"}
	case "status":
		return s.status()
	}
	return &page{title: "no such page", code: http.StatusNotFound, name: "missing", data: r.URL.Path}
}

// status is the page of the server itself.
func (s *Server) status() *page {
	st := s.Store.Stats()
	data := struct {
		Version, DB string
		Series      int64
		Samples     uint64
		Up          time.Duration
		Ways        []Way
	}{Version: s.Version, DB: s.DB, Series: st.Series, Samples: st.SamplesAccepted, Up: time.Since(s.Started).Round(time.Second)}
	if s.Ways != nil {
		data.Ways = s.Ways()
	}
	return &page{title: "status", name: "status", data: data}
}
