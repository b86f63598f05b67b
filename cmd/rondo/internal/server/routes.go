package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/receivers"
)

// paths returns the paths of all routes of receivers over the HTTP port.
func (w Ways) paths() (paths []string) {
	for _, r := range w.Receivers {
		for _, route := range r.Protocol.Routes {
			if _, path, _ := strings.Cut(route, " "); !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// mount adds the routes of all protocols over the HTTP port to mux. A route is there whether its
// protocol is on or off, because a reload turns protocols on and off.
func (m *manager) mount(mux *middleware.Routes, w Ways) {
	for _, path := range w.paths() {
		byMethod := make(map[string]string) // the protocol
		folder := ""
		for _, r := range w.Receivers {
			for _, route := range r.Protocol.Routes {
				if method, p, _ := strings.Cut(route, " "); p == path {
					byMethod[method] = r.Protocol.Name
					folder = r.Protocol.PathPrefix()
				}
			}
		}
		mux.Receive(path, folder, m.route(byMethod))
	}
}

// route returns the handler of one path. byMethod are the protocols of its requests.
func (m *manager) route(byMethod map[string]string) http.Handler {
	allow := strings.Join(slices.Sorted(maps.Keys(byMethod)), ", ")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := byMethod[r.Method]
		if !ok {
			w.Header().Set("Allow", allow)
			http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
			return
		}
		run, wanted := m.handler(name)
		switch {
		case run != nil:
			run.receiver.(receivers.Handler).ServeHTTP(w, r) // openRoutes has checked it
		case wanted: // the configuration is being read again, or the server ends
			receivers.TryAgain(w, "the receiver "+name+" is about to begin or has ended")
		default:
			http.Error(w, fmt.Sprintf("this server does not receive %s: it needs --%s on", name, name), http.StatusNotFound)
		}
	})
}

// openRoutes opens and serves a receiver over the HTTP port.
func (m *manager) openRoutes(r Receiver) error {
	name := r.Protocol.Name
	if m.http == nil {
		if r.Address.Named {
			m.Logger.Warn("not received: the HTTP port is off", "receiver", name)
		}
		return nil
	}
	rec, err := r.Protocol.New(m.settings(r), m.sink)
	if err != nil {
		return fmt.Errorf("receiver %s: %w", name, err)
	}
	if _, ok := rec.(receivers.Handler); !ok {
		return fmt.Errorf("receiver %s: it takes no requests", name)
	}
	m.Logger.Debug("taking requests", "for", name, "routes", strings.Join(r.Protocol.Routes, ", "))
	m.serve(r, rec)
	return nil
}

// handler returns the receiver of a protocol over the HTTP port. If it returns nil, wanted reports
// whether the configuration turns the protocol on.
func (m *manager) handler(name string) (r *run, wanted bool) {
	if r = m.run(name); r != nil {
		return r, true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return nil, m.wanted[name]
}

// want notes which protocols the configuration turns on.
func (m *manager) want(w Ways) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wanted = make(map[string]bool)
	for _, r := range w.Receivers {
		m.wanted[r.Protocol.Name] = r.Address.Addr != ""
	}
}
