package rpc

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/hosts"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/search"
)

// A Server is the service Rondo over one store.
type Server struct {
	rondov1.UnimplementedRondoHandler // answers the methods that this program lacks

	Store   core.Engine
	Version string    // the program's version, for the answer of Stats
	Started time.Time // when the server began, likewise
	// MaxFuture is how far ahead of the clock a sample's time may be; 0 means no limit.
	MaxFuture time.Duration
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// ProblemsOf returns what is the matter with a series; nil means that nothing is known.
	ProblemsOf func(s core.Series) []*rondov1.Problem
	// Report returns the answer of Status, with at most so many senders; nil means that there is no
	// Status.
	Report func(senders int) *rondov1.StatusResponse
	// ReportAlerts returns the answer of Alerts to a request with a limit; nil means that there are
	// no rules.
	ReportAlerts func(ctx context.Context, req *rondov1.AlertsRequest) (*rondov1.AlertsResponse, error)
	// Pages are the saved dashboards; nil means that the server has none.
	Pages Pages
	// MaySave lets clients save and drop dashboards.
	MaySave bool
	// Calls counts the answered calls.
	Calls Calls
	// Index is the index of the store's names, for Search and Tree; nil means one of the server's
	// own.
	Index *search.Index

	// Make makes the series that a Write asks for. The errors, one for each, say why a series was
	// not made. Nil means that a Write makes none.
	Make func(ctx context.Context, list []Newcomer) ([]error, error)
	// Evaluate evaluates an expression of PromQL. An error may be a *connect.Error. Nil means that
	// there is no Query.
	Evaluate func(ctx context.Context, q Question) (*rondov1.QueryResponse, error)
	// Ending is closed when the server is about to end, which ends every Tail. Nil means never.
	Ending <-chan struct{}
	// TailEvery is how often a Tail looks for new rows; 0 means once a second.
	TailEvery time.Duration
	// TailRound is how long a client of a Tail may take to read the rows of one look; 0 means 30
	// seconds.
	TailRound time.Duration

	tailed atomic.Int64 // series of all Tails

	indexOnce sync.Once
	board     *hosts.Board // made with the index
}

// A service is the service Rondo at one entrance.
type service struct {
	*Server
	*Commands
}

// CommandProcedures are the methods of the service Rondo that Commands answers.
var CommandProcedures = []string{rondov1.RondoExecProcedure, rondov1.RondoControlProcedure}

// Handler returns the path of the service and the handler that answers below it. c answers the
// methods of the command line, and may differ from entrance to entrance; nil: nothing does.
func (s *Server) Handler(c *Commands) (string, http.Handler) {
	options := func(spec connect.Spec) []connect.HandlerOption {
		if c != nil && slices.Contains(CommandProcedures, spec.Procedure) {
			return c.limits()
		}
		return messageLimits(spec)
	}
	var answers rondov1.RondoHandler = s
	if c != nil {
		answers = service{s, c}
	}
	path, h := rondov1.NewRondoHandler(
		answers, connect.WithConditionalHandlerOptions(options), connect.WithInterceptors(callCounter{&s.Calls}),
	)
	h = s.Calls.count(h)
	methods := Procedures()
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = strings.TrimPrefix(m, path)
	}
	return path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c != nil && BeginsSession(r) {
			c.upgrade(w, r)
			return
		}
		if !slices.Contains(methods, r.URL.Path) {
			http.Error(w, "no such method: those of "+path+" are "+strings.Join(names, ", "), http.StatusNotFound)
			return
		}
		h.ServeHTTP(explainer{w, r.Method}, r)
	})
}

func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// view returns the store as the user of a request sees it.
func (s *Server) view(ctx context.Context) access.View { return access.Of(ctx, s.Store) }

// ref returns the series that a request names by path or by ref.
func (s *Server) ref(ctx context.Context, path string, ref uint64) (core.Ref, error) {
	switch {
	case ref != 0:
		return core.Ref(ref), nil // the caller asks a view for it
	case path == "":
		return 0, invalid("no path and no ref")
	}
	r, err := s.view(ctx).Lookup(path)
	switch {
	case errors.Is(err, core.ErrInvalid): // the error names the path already
		return 0, coded(err)
	case err != nil:
		return 0, fail(err, "look up %.200q", path)
	}
	return r, nil
}

// series returns the catalogue entry of the series that a request names by path or by ref.
func (s *Server) series(ctx context.Context, path string, ref uint64) (core.Series, error) {
	return named(ctx, s, path, ref, access.View.Series)
}

// info returns the definition and the state of the series that a request names by path or by ref.
func (s *Server) info(ctx context.Context, path string, ref uint64) (core.Info, error) {
	return named(ctx, s, path, ref, access.View.Info)
}

func named[T any](ctx context.Context, s *Server, path string, ref uint64, of func(access.View, core.Ref) (T, error)) (x T, err error) {
	r, err := s.ref(ctx, path, ref)
	if err == nil {
		if x, err = of(s.view(ctx), r); err != nil {
			err = coded(err)
		}
	}
	return x, err
}

// An explainer writes an explanation into those refusals that the library sends with an empty body.
type explainer struct {
	http.ResponseWriter
	method string // of the request
}

// Unwrap returns the writer beneath, for http.ResponseController.
func (e explainer) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Flush sends what is buffered, where that can be done.
func (e explainer) Flush() { _ = http.NewResponseController(e.ResponseWriter).Flush() }

// WriteHeader begins the answer.
func (e explainer) WriteHeader(code int) {
	text := ""
	switch code {
	case http.StatusUnsupportedMediaType:
		if e.method == http.MethodGet {
			text = "a GET has its message in the address: ?encoding=json&message=%7B%7D"
			break
		}
		text = "the header Content-Type of a request must be one of: " + e.Header().Get("Accept-Post")
	case http.StatusMethodNotAllowed:
		text = "the methods of this address are: " + e.Header().Get("Allow")
	}
	if text == "" {
		e.ResponseWriter.WriteHeader(code)
		return
	}
	http.Error(e.ResponseWriter, text, code)
}
