package server

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/query/rpc"
)

// The patience with sessions of pipe mode over HTTP.
const (
	sessionIdle  = time.Hour        // from one command to the next
	sessionStall = 30 * time.Second // until the caller has read an answer
)

// mountRPC lets the HTTP port serve the service Rondo with the methods of the command line. These
// are for this machine only, if the server asks nobody who they are.
func (s *server) mountRPC(mux *middleware.Routes) {
	s.remote = &rpc.Commands{Store: s.store, Command: s.receivers.command, Remote: &rpc.Remote{
		Idle: sessionIdle, Stall: sessionStall,
	}}
	if s.middleware.Authorizer.Identify != nil {
		s.remote.Remote.User = func(r *http.Request) (*access.User, error) { return s.identify(r, sockets.ClientOf(r.RemoteAddr)) }
	}
	path, h := s.rpc.Handler(s.remote)
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		command := r.URL.Path == rpc.PipePath || slices.Contains(rpc.CommandProcedures, r.URL.Path)
		if command && !s.secured() && !fromHere(r) {
			refuseCommand(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
	mux.Handle(path, answer)
	mux.Handle(rpc.PipePath, answer)
}

// fromHere reports whether a request comes from this machine.
func fromHere(r *http.Request) bool {
	if a, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		return a.Addr().Unmap().IsLoopback()
	}
	_, unix := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
	return unix
}

// errStranger refuses a command from another machine if the server asks nobody who they are.
var errStranger = errors.New("commands are taken from this machine only, because this server asks nobody who they are: start rondo serve with --web-config")

func refuseCommand(w http.ResponseWriter, r *http.Request) {
	middleware.RespondEarly(w, r, func(w http.ResponseWriter) {
		if e := connect.NewErrorWriter(); e.IsSupported(r) {
			// The client may be gone.
			_ = e.Write(w, r, connect.NewError(connect.CodePermissionDenied, errStranger))
			return
		}
		http.Error(w, errStranger.Error(), http.StatusForbidden)
	})
}
