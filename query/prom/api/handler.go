package api

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/internal/limit"
)

// Prefix is what the paths of the API begin with.
const Prefix = "/api/v1/"

// A Config configures a Handler. Only Storage must be set.
type Config struct {
	Storage storage.Queryable
	// Spread returns what makes queries in a cluster, whose nodes evaluate sums over the partitions
	// that they have; nil: there is no cluster.
	Spread func(Spreading) Asker
	// Metadata returns what is known of a metric; of all metrics if the name is empty. Nil means
	// nothing.
	Metadata func(ctx context.Context, metric string) (map[string][]metadata.Metadata, error)
	// Rules returns the groups of rules as a JSON array, and the token of the next page of them. An
	// error is about the parameter group_next_token. Without Rules there are no groups.
	Rules func(ctx context.Context, r *http.Request) (groups []byte, next string, err error)
	// Alerts returns the alerts that are active as a JSON array. Without Alerts no alert is active.
	Alerts func(ctx context.Context, r *http.Request) ([]byte, error)
	// Damages returns how many places of damage were met in the database. Nil means none.
	Damages func() int64
	// Memory is the memory budget of the process in bytes. It bounds the samples of a query. 0
	// means no budget.
	Memory int64
	// Version is rondo's version, and Started the start of the process.
	Version string
	Started time.Time

	now      func() time.Time
	timeout  time.Duration
	samples  int
	places   int
	readRows int
}

// A Spreading says how queries are made whose sums nodes of a cluster evaluate.
type Spreading struct {
	Engine   *promql.Engine // evaluates the rest of an expression
	Lookback time.Duration
	Most     int  // values that the nodes may send for one expression
	ForRules bool // rules ask, which have places of their own
}

// An Asker makes queries; for end only if step is 0. It may be called concurrently.
type Asker interface {
	NewQuery(ctx context.Context, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error)
}

func (c Config) withDefaults() Config {
	if c.Metadata == nil {
		c.Metadata = func(context.Context, string) (map[string][]metadata.Metadata, error) { return nil, nil }
	}
	if c.Rules == nil {
		c.Rules = func(context.Context, *http.Request) ([]byte, string, error) { return []byte("[]"), "", nil }
	}
	if c.Alerts == nil {
		c.Alerts = func(context.Context, *http.Request) ([]byte, error) { return []byte("[]"), nil }
	}
	if c.Damages == nil {
		c.Damages = func() int64 { return 0 }
	}
	if c.now == nil {
		c.now = time.Now
	}
	c.timeout = cmp.Or(c.timeout, queryTime)
	c.samples = cmp.Or(c.samples, samplesIn(c.Memory))
	c.places = cmp.Or(c.places, places())
	c.readRows = cmp.Or(c.readRows, c.samples)
	return c
}

// A Handler answers the requests below Prefix. Its methods may be called at the same time.
type Handler struct {
	Config
	engine  *promql.Engine
	asker   Asker        // nil: there is no cluster
	running *limit.Limit // requests that compute
	routes  map[string]route
	counts  counts

	rulesRunning *limit.Limit // the places of the rules
	rulesAsker   Asker        // as asker
}

// New returns a handler.
func New(c Config) *Handler {
	c = c.withDefaults()
	places := int64(c.places)
	h := &Handler{
		Config: c, engine: newEngine(c.samples, c.timeout),
		running: limit.New(places, places), rulesRunning: limit.New(places, places),
	}
	if c.Spread != nil {
		how := Spreading{Engine: h.engine, Lookback: lookback, Most: c.samples}
		h.asker = c.Spread(how)
		how.ForRules = true
		h.rulesAsker = c.Spread(how)
	}
	h.routes = h.table()
	return h
}

func newEngine(samples int, timeout time.Duration) *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples:               samples,
		Timeout:                  timeout,
		LookbackDelta:            lookback,
		NoStepSubqueryIntervalFn: func(int64) int64 { return subqueryStep.Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       true,
	})
}

// NewEngine returns an engine with the limits that a handler with this budget of memory has, and
// how many expressions it may evaluate at a time.
func NewEngine(memory int64) (e *promql.Engine, atOnce int) {
	return newEngine(samplesIn(memory), queryTime), places()
}

// newQuery prepares a query; for end only if step is 0. asker is nil if there is no cluster.
func (h *Handler) newQuery(ctx context.Context, asker Asker, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	switch {
	case asker != nil:
		return asker.NewQuery(ctx, opts, text, start, end, step)
	case step == 0:
		return h.engine.NewInstantQuery(ctx, h.Storage, opts, text, end)
	}
	return h.engine.NewRangeQuery(ctx, h.Storage, opts, text, start, end, step)
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	route, name, ok := h.find(r.URL.EscapedPath())
	if !ok {
		http.NotFound(w, r)
		return
	}
	if !route.takes(r.Method) {
		w.Header().Set("Allow", strings.Join(route.Methods, ", "))
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.timeout)
	defer cancel()
	began := time.Now()
	route.serve(w, r.WithContext(ctx), name)
	h.counts.seconds.Observe(time.Since(began))
}

// find returns the route of an escaped path, and the name in it that a label has.
func (h *Handler) find(path string) (found route, name string, ok bool) {
	path, ok = strings.CutPrefix(path, Prefix)
	if !ok {
		return route{}, "", false
	}
	if label, ok := strings.CutPrefix(path, "label/"); ok {
		if label, ok = strings.CutSuffix(label, "/values"); ok && !strings.Contains(label, "/") {
			name, err := url.PathUnescape(label)
			return h.routes[labelValuesPath], name, err == nil && name != ""
		}
		return route{}, "", false
	}
	found, ok = h.routes[path]
	return found, "", ok
}
