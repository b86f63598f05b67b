package rpc

import (
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

// The limits of requests and answers.
const (
	maxRequestBytes = 4 << 20   // of one request, unpacked
	maxAnswerBytes  = 256 << 20 // of one answer that a Client takes
	maxSamples      = 100_000   // samples of one Write
	maxRejections   = 16        // listed in the answer of one Write
	maxFetchValues  = 4 << 20   // values in one answer of Fetch
	defaultPage     = 1_000     // series a page of List
	maxPage         = 10_000
	maxLabelValues  = 1_000_000
)

// A Server is the service Rondo over one store.
type Server struct {
	Store   *core.Store
	Version string    // told by Stats
	Started time.Time // likewise
	// MaxFuture is how far ahead of the clock a sample may be; 0: no limit.
	MaxFuture time.Duration
	// Now is the clock; nil: time.Now.
	Now func() time.Time
}

// Handler returns the path that the service stands at and what answers there.
func (s *Server) Handler() (string, http.Handler) {
	return rondov1.NewRondoHandler(s, connect.WithReadMaxBytes(maxRequestBytes))
}

func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// ref returns the series that a request names by path or by ref.
func (s *Server) ref(path string, ref uint64) (core.Ref, error) {
	switch {
	case ref != 0:
		return core.Ref(ref), nil
	case path == "":
		return 0, invalid("no path and no ref")
	}
	r, err := s.Store.Lookup(path)
	if err != nil {
		return 0, fail(err, "look up %q", path)
	}
	return r, nil
}

// series returns the catalogue entry of the series that a request names by path or by ref.
func (s *Server) series(path string, ref uint64) (core.Series, error) {
	r, err := s.ref(path, ref)
	if err != nil {
		return core.Series{}, err
	}
	e, err := s.Store.Series(r)
	if err != nil {
		return core.Series{}, fail(err, "series %d", r)
	}
	return e, nil
}
