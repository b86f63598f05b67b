package web

import (
	"net/http"
	"strings"
)

// ServeHTTP answers the requests for pages, for the files below /assets/ and for graphs.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if !s.has(r.URL.Path) {
			http.NotFound(w, r) // clients of a service that this port lacks know it by this
			return
		}
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "this address is read by GET.", http.StatusMethodNotAllowed)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/assets/"); ok {
		builtIn().serve(w, r, name)
		return
	}
	if format, ok := strings.CutPrefix(r.URL.Path, GraphPath); ok {
		s.graph(w, r, format)
		return
	}
	if r.URL.Path == timesPath {
		s.times(w, r)
		return
	}
	if r.URL.Path == UpdatesPath {
		s.updates(w, r)
		return
	}
	s.page(w, r)
}

// has reports whether the handler answers requests for a path.
func (s *Server) has(path string) bool {
	show, _ := s.route(path)
	return show != nil || Draws(path) || path == timesPath || strings.HasPrefix(path, "/assets/")
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

// Stats returns counts since the start.
func (s *Server) Stats() Stats {
	c := &s.counts
	return Stats{
		Drawn: c.drawn.Load(), Kept: c.kept.Load(), Unchanged: c.unchanged.Load(), Busy: c.busy.Load(), Failed: c.failed.Load(),
		Waiting: s.drawing.Waiting() + int(s.drawing.Used()), Seconds: c.seconds.Snapshot(),
	}
}
