package api

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/rondo-db/rondo/cluster/spread"
	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/prom"
)

// Prefix is what the paths of the API begin with.
const Prefix = "/api/v1/"

// A Config configures a Handler. Only Storage must be set.
type Config struct {
	Storage storage.Queryable
	// Partitions are the partitions of the cluster, whose series Storage has, and Local evaluates
	// sums over this node's. Nil: there is no cluster.
	Partitions spread.Partitions
	Local      *spread.Evaluator
	// Metadata returns what is known of a metric; of all metrics if the name is empty. Nil means
	// nothing.
	Metadata func(ctx context.Context, metric string) (map[string][]metadata.Metadata, error)
	// Rules returns the groups of rules, and Alerts the alerts that are active, as JSON arrays. Nil
	// means that there are none.
	Rules, Alerts func(ctx context.Context, r *http.Request) ([]byte, error)
	// Damages returns how many places of damage were met in the database. Nil means none.
	Damages func() int64
	// Memory is the memory budget of the process in bytes. It bounds the samples of a query. 0
	// means no budget.
	Memory int64
	// Client returns who sends a request, for a fair share of the places. Nil means one client.
	Client func(*http.Request) string
	// Charge charges n bytes of an answer to the request with ctx. An error refuses the answer. Nil
	// means no bound.
	Charge func(ctx context.Context, n int64) error
	// Version is rondo's version, and Started the start of the process.
	Version string
	Started time.Time

	now      func() time.Time
	timeout  time.Duration
	samples  int
	places   int
	readRows int
}

func (c Config) withDefaults() Config {
	if c.Client == nil {
		c.Client = func(*http.Request) string { return "" }
	}
	if c.Charge == nil {
		c.Charge = func(context.Context, int64) error { return nil }
	}
	if c.Metadata == nil {
		c.Metadata = func(context.Context, string) (map[string][]metadata.Metadata, error) { return nil, nil }
	}
	none := func(context.Context, *http.Request) ([]byte, error) { return []byte("[]"), nil }
	if c.Rules == nil {
		c.Rules = none
	}
	if c.Alerts == nil {
		c.Alerts = none
	}
	if c.Damages == nil {
		c.Damages = func() int64 { return 0 }
	}
	if c.now == nil {
		c.now = time.Now
	}
	if c.timeout == 0 {
		c.timeout = queryTime
	}
	if c.samples == 0 {
		c.samples = samplesIn(c.Memory)
	}
	if c.places == 0 {
		c.places = places()
	}
	if c.readRows == 0 {
		c.readRows = c.samples
	}
	return c
}

// A Handler answers the requests below Prefix. Its methods may be called at the same time.
type Handler struct {
	Config
	engine  *promql.Engine
	asker   *spread.Asker // nil: there is no cluster
	running *limit.Limit  // requests that compute
	routes  map[string]route
	counts  counts

	rulesRunning *limit.Limit  // the places of the rules
	rulesAsker   *spread.Asker // as asker
}

// New returns a handler.
func New(c Config) *Handler {
	c = c.withDefaults()
	places := int64(c.places)
	h := &Handler{
		Config: c, engine: newEngine(c.samples, c.timeout),
		running: limit.New(places, places), rulesRunning: limit.New(places, places),
	}
	if c.Partitions != nil {
		asker := func(rules bool) *spread.Asker {
			return &spread.Asker{
				Engine: h.engine, Storage: c.Storage, Partitions: c.Partitions, Local: c.Local, Lookback: lookback, Most: c.samples, ForRules: rules,
			}
		}
		h.asker, h.rulesAsker = asker(false), asker(true)
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

// NewEvaluator returns what evaluates sums over the partitions of this node, for handlers of all
// nodes, within the limits that a handler with this budget of memory has.
func NewEvaluator(memory int64, o prom.Options) *spread.Evaluator {
	return spread.NewEvaluator(newEngine(samplesIn(memory), queryTime), o, places())
}

// newQuery prepares a query; for end only if step is 0. asker is nil if there is no cluster.
func (h *Handler) newQuery(ctx context.Context, asker *spread.Asker, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
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
