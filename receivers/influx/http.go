package influx

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
)

// HTTP is the line protocol over HTTP, as InfluxDB 1.8 takes it, with what clients ask besides.
var HTTP = receivers.Protocol{
	Name:    "influx-http",
	Title:   "InfluxDB's line protocol over HTTP",
	Prefix:  prefix,
	Network: receivers.HTTP,
	Address: receivers.On,
	Routes: []string{
		"POST " + pathWrite, "POST " + pathWrite2,
		"GET " + pathPing, "HEAD " + pathPing, "POST " + pathPing, "GET " + pathHealth,
		"GET " + pathQuery, "POST " + pathQuery,
	},
	Usage:   "whether --http takes lines of InfluxDB's protocol at /write and /api/v2/write: `on|off`",
	Shares:  []receivers.Flag{flagStep},
	Default: define,
	Check:   func(c receivers.Config) error { _, err := c.Step(flagStep); return err },
	New:     newHTTP,
}

// An httpServer is the receiver over HTTP.
type httpServer struct {
	*intake
	*receivers.Requests
	writes sync.Pool // of *write
}

func newHTTP(cfg receivers.Config, sink receivers.Sink) (receivers.Receiver, error) {
	step, err := cfg.Step(flagStep)
	if err != nil {
		return nil, err
	}
	s := &httpServer{intake: newIntake(cfg, sink, step)}
	s.Requests = receivers.NewRequests(sink, &s.Counters, cfg)
	s.writes.New = func() any { return newWrite(s.intake, s.Requests) }
	return s, nil
}

// ServeHTTP answers one request.
func (s *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Influxdb-Version", version)
	w.Header().Set("X-Influxdb-Build", "OSS")
	switch r.URL.Path {
	case pathPing:
		s.ping(w, r)
	case pathHealth:
		reply(w, http.StatusOK, `{"name":"influxdb","message":"ready for queries and writes","status":"pass","checks":[],"version":"`+version+`"}`)
	case pathQuery:
		s.Handle(w, r, func(_ context.Context, body []byte) { s.query(w, r, body) })
	default:
		s.Handle(w, r, func(ctx context.Context, body []byte) { s.write(ctx, w, r, body) })
	}
}

// write answers a request to write lines.
func (s *httpServer) write(ctx context.Context, w http.ResponseWriter, r *http.Request, body []byte) {
	q := s.writes.Get().(*write)
	defer func() {
		q.end()
		s.writes.Put(q)
	}()
	var err error
	if q.src, err = sourceOf(r); err != nil {
		s.Drop(receivers.Malformed, 1)
		fail(w, r, http.StatusBadRequest, err.Error())
		return
	}
	q.begin(s.cfg.Now())
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
		q.dec.Reset(body, q.src.unit, true)
		q.lines(ctx)
	case "gzip":
		q.packed(ctx, body)
	default:
		s.Drop(receivers.Unsupported, 1)
		fail(w, r, http.StatusUnsupportedMediaType, "the content encoding is neither gzip nor identity")
		return
	}
	q.answer(w, r)
}

func (s *httpServer) ping(w http.ResponseWriter, r *http.Request) {
	if v := r.URL.Query().Get("verbose"); v != "" && v != "0" && v != "false" {
		reply(w, http.StatusOK, `{"version":"`+version+`"}`)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// query answers what clients ask before they write: statements that make a database, or what a
// database needs. Databases need not be made, so these do nothing. Other statements are refused.
func (s *httpServer) query(w http.ResponseWriter, r *http.Request, body []byte) {
	q := r.URL.Query().Get("q")
	if q == "" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if form, err := url.ParseQuery(string(body)); err == nil {
			q = form.Get("q")
		}
	}
	q = strings.ToUpper(strings.Join(strings.Fields(q), " "))
	switch {
	case q == "":
		fail(w, r, http.StatusBadRequest, `missing required parameter "q"`)
	case strings.HasPrefix(q, "CREATE DATABASE "), strings.HasPrefix(q, "CREATE RETENTION POLICY "), strings.HasPrefix(q, "ALTER RETENTION POLICY "):
		reply(w, http.StatusOK, `{"results":[{"statement_id":0}]}`)
	case q == "SHOW DATABASES":
		reply(w, http.StatusOK, `{"results":[{"statement_id":0,"series":[{"name":"databases","columns":["name"]}]}]}`)
	default:
		s.Drop(receivers.Unsupported, 1)
		reply(w, http.StatusOK, `{"results":[{"statement_id":0,"error":"this server stores lines and answers no InfluxQL: use PromQL"}]}`)
	}
}

// The paths of the routes.
const (
	pathWrite  = "/write"
	pathWrite2 = "/api/v2/write"
	pathPing   = "/ping"
	pathHealth = "/health"
	pathQuery  = "/query"
)

// version is the version of InfluxDB that clients get: the one whose answers these are.
const version = "1.8.10"

// maxDatabase is the longest name of a database, in bytes.
const maxDatabase = 256

// reply answers with a JSON text.
func reply(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n") // the client may be gone
}

// fail answers with an error, in the form of the API that the request is of.
func fail(w http.ResponseWriter, r *http.Request, status int, what string) {
	w.Header().Set("X-Influxdb-Error", text.Cut(receivers.LabelText(what), maxQuoted))
	body := map[string]string{"error": what}
	if r.URL.Path == pathWrite2 {
		code := "invalid"
		switch status {
		case http.StatusServiceUnavailable:
			code = "unavailable"
		case http.StatusRequestEntityTooLarge:
			code = "request too large"
		}
		body = map[string]string{"code": code, "message": what}
	}
	b, err := json.Marshal(body)
	if err != nil { // texts are always possible
		b = []byte("{}")
	}
	reply(w, status, string(b))
}

// sourceOf returns where the lines of a request come from.
func sourceOf(r *http.Request) (source, error) {
	p := r.URL.Query()
	src, database := source{sender: receivers.ClientHost(r)}, p.Get("db")
	units := units1
	if r.URL.Path == pathWrite2 {
		database, units = p.Get("bucket"), units2
	}
	var ok bool
	if src.unit, ok = units[p.Get("precision")]; !ok {
		return src, fmt.Errorf("invalid precision %q (use ns, us, ms or s)", p.Get("precision"))
	}
	if err := text.Check(database); err != nil {
		return src, fmt.Errorf("name of the database: %w", err)
	}
	if len(database) > maxDatabase {
		return src, fmt.Errorf("name of the database: %d bytes, at most %d are possible", len(database), maxDatabase)
	}
	src.database = []byte(database)
	return src, nil
}

// The units of the parameter precision: of /write, and of /api/v2/write.
var (
	units1 = map[string]Unit{
		"": Nanoseconds, "n": Nanoseconds, "ns": Nanoseconds, "u": Microseconds, "us": Microseconds, "µ": Microseconds,
		"ms": Milliseconds, "s": Seconds, "m": Minutes, "h": Hours,
	}
	units2 = map[string]Unit{"": Nanoseconds, "ns": Nanoseconds, "us": Microseconds, "ms": Milliseconds, "s": Seconds}
)
