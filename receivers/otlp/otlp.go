package otlp

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is OpenTelemetry's protocol for metrics over HTTP.
var Protocol = receivers.Protocol{
	Name:    "otlp",
	Title:   "OpenTelemetry's metrics",
	Network: receivers.HTTP,
	Address: receivers.On,
	Routes:  []string{"POST /v1/metrics", "POST /api/v1/otlp/v1/metrics"},
	Usage:   "whether --http takes OpenTelemetry's metrics at /v1/metrics and /api/v1/otlp/v1/metrics: `on|off`",
	Flags:   []receivers.Flag{flagStep},
	Default: func(c receivers.Config, step int64) *rra.Definition {
		own, _ := c.Step(flagStep) // Check says what is wrong
		return define(gauge, cmp.Or(step, own))
	},
	Check: func(c receivers.Config) error { _, err := c.Step(flagStep); return err },
	New:   newServer,
}

var flagStep = receivers.LearnedStepFlag("otlp")

// A server is the receiver.
type server struct {
	*intake
	*receivers.Requests
	exports sync.Pool // of *export
}

func newServer(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	step, err := cfg.Step(flagStep)
	if err != nil {
		return nil, err
	}
	s := &server{intake: newIntake(cfg, sink, step)}
	s.Requests = receivers.NewRequests(sink, &s.Counters, cfg)
	s.exports.New = func() any { return newExport(s.intake, s.Requests) }
	return s, nil
}

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.Handle(w, r, func(ctx context.Context, body []byte) {
		f, ok := formOf(r.Header.Get("Content-Type"))
		if !ok {
			s.Drop(receivers.Unsupported, 1)
			http.Error(w, "the content type is neither application/x-protobuf nor application/json", http.StatusUnsupportedMediaType)
			return
		}
		whole, release, err := message(s.Requests, r, f, body)
		if err != nil {
			s.refuse(w, f, err)
			return
		}
		defer release()
		e := s.exports.Get().(*export)
		defer s.exports.Put(e)
		e.begin(ctx, receivers.ClientHost(r), s.cfg.Now())
		err = e.dec.request(whole)
		if e.failed == nil {
			e.flush()
		}
		switch {
		case e.failed != nil:
			w.Header().Set("Retry-After", "1")
			f.status(w, http.StatusServiceUnavailable, "not stored, send it again: "+e.failed.Error())
		case err != nil:
			s.refuse(w, f, &refusal{http.StatusBadRequest, receivers.Malformed, err.Error()})
		default:
			e.answer(w, f)
		}
	})
}

// refuse counts and answers a request that is not taken.
func (s *server) refuse(w http.ResponseWriter, f form, err error) {
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{http.StatusBadRequest, receivers.Malformed, err.Error()}
	}
	if r.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	} else {
		s.Drop(r.reason, 1)
	}
	f.status(w, r.status, r.what)
}
