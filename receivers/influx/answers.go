package influx

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
)

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
