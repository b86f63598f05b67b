package web

import (
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// A Server serves the pages of one store. Set its fields before [Server.Handler] is called.
type Server struct {
	Store   *core.Store
	RPC     rondov1.RondoHandler // answers what plain pages ask
	Version string
	DB      string // the database's folder, as the status page shows it
	Started time.Time
	// Ways returns the addresses at which samples come in; nil means none.
	Ways func() []Way
}

// A Way is an address at which samples come in.
type Way struct{ Name, Addr string }

// Handler returns the handler of all pages and of the files below /assets/.
func (s *Server) Handler() http.Handler {
	assets := builtIn()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this address is read by GET.", http.StatusMethodNotAllowed)
			return
		}
		if name, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok {
			assets.serve(w, r, name)
			return
		}
		s.page(w, r)
	})
}

// secure sets the headers that keep a page from loading anything from elsewhere, from running
// script that is not a file of this server, and from being shown inside another page.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

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
