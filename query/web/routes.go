package web

import (
	"io"
	"net/http"
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/rondo-db/rondo/internal/template"
)

// page answers the request for a page.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	p := s.find(r)
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	out, end := packed(w, r)
	defer end()
	if p.code != 0 {
		w.WriteHeader(p.code)
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	// Errors mean that the client is gone.
	_ = shell().Execute(out, "shell", struct {
		Title, Base, Script, Theme, Sheet string
		Plain, Answers                    template.HTML
	}{p.title, base(), joinedName, themeOf(r), sheetOf(first), p.plain(), written(p.answers)})
}

// packed returns where a page is to be written, and what ends it: in gzip for a browser that
// reads it. On one machine packing takes longer than sending, so nothing is packed there.
func packed(w http.ResponseWriter, r *http.Request) (out io.Writer, end func()) {
	w.Header().Set("Vary", "Accept-Encoding, Cookie")
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err == nil && client.Addr().Unmap().IsLoopback() || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return w, func() {}
	}
	w.Header().Set("Content-Encoding", "gzip")
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level exists
	return z, func() { _ = z.Close() }
}

// themeOf returns the theme that the reader has chosen in this browser: "dark", "light" or nothing.
func themeOf(r *http.Request) string {
	c, err := r.Cookie("theme")
	if err != nil || c.Value != "dark" && c.Value != "light" {
		return ""
	}
	return c.Value
}

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
	case first == "alerts" && rest == "":
		return alone(s.alerts), ""
	case first == "status" && rest == "":
		return alone(s.status), ""
	}
	return nil, ""
}
