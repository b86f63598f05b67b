package api

import (
	"context"
	"net/http"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/internal/sockets"
)

// An endpoint answers a request. name is the label in its path.
type endpoint func(r *http.Request, name string) (*result, error)

// A result is the data of an answer.
type result struct {
	data     func(*output)           // writes the data as JSON
	warnings annotations.Annotations // with those that Prometheus calls infos
	query    string                  // which the warnings are about
	bytes    int64                   // which the data occupy in memory until they are sent, about
	done     func()                  // gives the data back; may be nil
}

func (res *result) close() {
	if res != nil && res.done != nil {
		res.done()
	}
}

// constant returns an endpoint whose data never change.
func constant(json string) endpoint {
	return func(*http.Request, string) (*result, error) {
		return &result{data: func(o *output) { o.text(json) }}, nil
	}
}

// handle returns the handler of an endpoint. If it reads series, it waits for a place. The request
// holds the place while it computes and writes JSON, and not while its client sends or reads.
func (h *Handler) handle(f endpoint, reads bool) func(http.ResponseWriter, *http.Request, string) {
	return func(w http.ResponseWriter, r *http.Request, name string) {
		var t *turn
		err := form(r)
		if err == nil && reads {
			if t, err = h.turn(r.Context(), sockets.ClientOf(r.RemoteAddr)); err == nil {
				defer t.pause()
			}
		}
		if err != nil {
			h.fail(w, err, nil)
			return
		}
		h.answer(w, r, name, f, t)
	}
}

// answer answers a request by an endpoint. t may be nil.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, name string, f endpoint, t *turn) {
	res, err := f(r, name)
	defer res.close()
	if err == nil {
		err = h.charge(r.Context(), res.bytes)
	}
	if err != nil {
		h.fail(w, err, res)
		return
	}
	h.counts.answered.Add(1)
	o := newOutput(r.Context(), w, acceptsGzip(r.Header), t)
	o.text(`{"status":"success","data":`)
	res.data(o)
	o.annotations(res)
	o.text("}")
	o.end()
}

// charge charges an answer of n bytes to its request.
func (h *Handler) charge(ctx context.Context, n int64) error {
	if err := limit.Of(ctx).Charge(n); err != nil {
		return &failure{Unavailable, err}
	}
	return nil
}

// failed counts a request that failed, and says when it may be sent again.
func (h *Handler) failed(w http.ResponseWriter, err error) *failure {
	f := asFailure(err)
	h.counts.fail(err)
	if f.kind == Unavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	return f
}

// fail answers with an error. res, if it is not nil, has warnings.
func (h *Handler) fail(w http.ResponseWriter, err error, res *result) {
	f := h.failed(w, err)
	o := newOutput(context.Background(), w, false, nil)
	o.status = f.kind.status()
	o.text(`{"status":"error","errorType":`)
	o.str(string(f.kind))
	o.text(`,"error":`)
	o.str(f.Error())
	if res != nil {
		o.annotations(res)
	}
	o.text("}")
	o.end()
}

// annotations writes warnings and infos, ten of each at most.
func (o *output) annotations(res *result) {
	warnings, infos := res.warnings.AsStrings(res.query, 10, 10)
	if len(warnings) > 0 {
		o.text(`,"warnings":`)
		o.list(warnings)
	}
	if len(infos) > 0 {
		o.text(`,"infos":`)
		o.list(infos)
	}
}
