package server

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/cmd/rondo/internal/server/middleware"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/internal/access"
	"github.com/rondo-db/rondo/query/prom/alerts"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/rra"
)

// queriedSeries are series of all kinds of names. Series with another's path have the word secret
// in it, and labels that contain it.
var queriedSeries = []struct{ path, labels, kind string }{
	{"team/a/load", "host=own1 plugin=load type=load", "GAUGE"},
	{"team/a/cpu", "host=own1 plugin=cpu plugin_instance=0 type=cpu type_instance=idle", "DERIVE"},
	{"team/a/metric", "host=own1 metric=mem cluster=c", "GAUGE"},
	{"team/a/up", "__name__=up job=j instance=own1", "GAUGE"},
	{"team/a/requests", "__name__=requests_total job=j instance=own1", "DDERIVE"},
	{"team/a/file", "room=own", "GAUGE"},
	{"team/a", "", "GAUGE"},
	{"secret/load", "host=secret1 plugin=load type=load", "GAUGE"},
	{"secret/cpu", "host=secret1 plugin=cpu plugin_instance=secret0 type=cpu type_instance=secret", "DERIVE"},
	{"secret/swap", "host=secret1 plugin=secretswap type=secretswap", "GAUGE"},
	{"secret/metric", "host=secret1 metric=mem cluster=secret", "GAUGE"},
	{"secret/metric2", "host=own1 metric=secret cluster=c", "GAUGE"},
	{"secret/xen", "plugin=secret owner=vm uuid=secret name=secret", "GAUGE"},
	{"secret/mono", "peer=secret#2 category=secret name=secret", "GAUGE"},
	{"secret/smon", "peer=secret token=secret index=0", "GAUGE"},
	{"secret/up", "__name__=up job=secret instance=secret1", "GAUGE"},
	{"secret/same", "__name__=up job=j instance=own1", "GAUGE"}, // as one of team/a
	{"secret/only", "__name__=secret_total secretlabel=x", "DDERIVE"},
	{"team/asecret", "room=secret", "GAUGE"},
	{"team/a-secret/x", "secretroom=own", "GAUGE"},
	{"team/secret", "", "GAUGE"},
}

// queriedStore returns a store with queriedSeries, with others' series or without.
func queriedStore(t *testing.T, others bool) *core.Store {
	t.Helper()
	store := enginetest.Open(t)
	for _, x := range queriedSeries {
		secret := strings.Contains(x.path, "secret")
		if secret && !others {
			continue
		}
		d, err := rra.ParseDefinition(10, []string{"DS:value:" + x.kind + ":20:U:U", "RRA:AVERAGE:0.5:1:100"})
		if err != nil {
			t.Fatal(err)
		}
		spec := core.Spec{Path: x.path, Definition: d, Start: rra.Seconds(1_700_000_000)}
		for l := range strings.FieldsSeq(x.labels) {
			name, value, _ := strings.Cut(l, "=")
			spec.Labels = append(spec.Labels, core.Label{Name: name, Value: value})
		}
		ref, err := store.Create(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		var b core.Batch
		for i := int64(1); i <= 20; i++ {
			v := float64(3 * i)
			if secret {
				v = float64(777777 * i)
			}
			b.Add(ref, rra.Seconds(1_700_000_000+10*i), rra.Float(v))
		}
		if err := store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		m := core.Metadata{Time: rra.Seconds(1_700_000_000), Attributes: []core.Label{{Name: "help", Value: "of " + x.path}}}
		if _, err := store.SetMetadata(t.Context(), []core.PathMetadata{{Path: x.path, Metadata: m}}); err != nil {
			t.Fatal(err)
		}
	}
	return store
}

// queriedServer returns the handler of the HTTP port over queriedStore, for the user *u.
func queriedServer(t *testing.T, others bool, u **access.User) http.Handler {
	t.Helper()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yml")
	text := "groups: [{name: secret, rules: [{alert: SecretAlert, expr: 'up{job=\"secret\"} > 0'}, {record: 'secret:x', expr: vector(1)}]}]\n"
	if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{DB: dir, Rules: alerts.Config{Files: []string{rules}, Every: time.Hour}}
	s := &server{Config: c.withDefaults(), middleware: quietMiddleware(middleware.DefaultBounds(0)), store: queriedStore(t, others)}
	s.receivers = newManager(s)
	s.rpc = s.newRPC()
	s.pages = s.newPages()
	s.queries = s.newQueries()
	var err error
	if s.rules, err = s.newRules(); err != nil {
		t.Fatal(err)
	}
	all, scrapes := s.handlers()
	s.middleware.Authorizer = middleware.Authorizer{
		Permission: all.Permission,
		Challenges: func() []string { return nil },
		Identify:   func(*http.Request, string) (*access.User, error) { return *u, nil },
	}
	s.middleware.Open(all, scrapes)
	return s.middleware
}

// remoteRead returns the body of a request of remote read for all series.
func remoteRead(t *testing.T, types ...prompb.ReadRequest_ResponseType) string {
	t.Helper()
	req := prompb.ReadRequest{AcceptedResponseTypes: types, Queries: []*prompb.Query{{
		StartTimestampMs: 1_700_000_000_000, EndTimestampMs: 1_700_000_200_000,
		Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "__name__", Value: ".+"}},
	}}}
	b, err := req.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(snappy.Encode(nil, b))
}

// queriedRequests are requests of Prometheus' API: the path below the prefix and its parameters.
var queriedRequests = []string{
	`query?time=1700000200&query={__name__=~".%2B"}`,
	`query?time=1700000200&query=up`,
	`query?time=1700000200&query={job!="j"}`,
	`query?time=1700000200&query=rrd{path="secret/load"}`,
	`query?time=1700000200&query=rrd{path="team/a"}`,
	`query?time=1700000200&query=rrd{path=~".*"}`,
	`query?time=1700000200&query=count({__name__!=""})`,
	`query?time=1700000200&query=sum(collectd_load)`,
	`query?time=1700000200&query=secret_total`,
	`query?time=1700000200&query=absent(collectd_secretswap)`,
	`query?time=1700000200&query=rate({__name__=~".*_total"}[1m])`,
	`query?time=1700000200&query=max_over_time({instance=~".%2B"}[3m])`,
	`query?time=1700000200&query=up*on(job)up&stats=all`,
	`query?time=1700000200&query=up*on()up`, // many to many only with the series of others
	`query?time=1700000200&query=label_replace(up,"x","y","","")`,
	`query?time=1700000200&query=topk(2,{__name__=~".%2B"})`,
	`query_range?start=1700000000&end=1700000200&step=50&query={__name__=~".%2B"}`,
	`query_range?start=1700000000&end=1700000200&step=10&query=sum by(instance) (up)&stats=all`,
	`series?match[]={__name__=~".%2B"}`,
	`series?match[]=up&match[]={instance=~"secret.*"}`,
	`series?match[]={__name__=~".%2B"}&limit=2`,
	`labels`,
	`labels?match[]=up`,
	`labels?match[]={__name__=~"rrd|smon.*|xen.*"}`,
	`labels?match[]={instance="secret1"}`,
	`labels?limit=1`,
	`label/__name__/values`,
	`label/__name__/values?match[]={instance=~".%2B"}`,
	`label/__name__/values?match[]={__name__=~".*e.*"}`,
	`label/instance/values`,
	`label/job/values`,
	`label/path/values`,
	`label/cpu/values`,
	`label/secretlabel/values`,
	`label/instance/values?match[]=collectd_load`,
	`label/instance/values?limit=1`,
	`metadata`,
	`metadata?metric=up`,
	`metadata?metric=secret_total`,
	`metadata?limit=1`,
	`query_exemplars?query=up`,
	`rules`,
	`rules?type=alert`,
	`alerts`,
	`format_query?query=up`,
	`parse_query?query=up`,
	`status/buildinfo`,
	`status/flags`,
	`status/config`,
	`status/tsdb`,
	`status/tsdb?limit=2`,
	`status/walreplay`,
	`targets`,
	`targets/metadata`,
	`scrape_pools`,
	`alertmanagers`,
	`notifications`,
	`targets/relabel_steps`,
	`read`,
	`read streamed`,
}

// timings are what an answer says of how long it took and of when it was given.
var timings = regexp.MustCompile(`"timings":\{[^}]*\}|"maxTime":\d+`)

// TestPromQLShowsLimitedUsersTheirOwn: a user who was limited to folders could not ask in PromQL at
// all. Each answer to such a user is the one of a server that has the user's series only.
func TestPromQLShowsLimitedUsersTheirOwn(t *testing.T) {
	u := &access.User{Name: "tenant", Role: access.Read, Folders: []string{"team/a"}}
	with, without := queriedServer(t, true, &u), queriedServer(t, false, &u)
	asked := make(map[string]bool)
	for _, request := range queriedRequests {
		var bodies [2]string
		var codes [2]int
		for i, h := range []http.Handler{with, without} {
			codes[i], bodies[i] = askQuery(t, h, request)
			bodies[i] = timings.ReplaceAllString(bodies[i], "")
		}
		shown := bodies[0]
		if strings.HasPrefix(request, "read") {
			shown = base64.StdEncoding.EncodeToString([]byte(shown))
			if text, err := snappy.Decode(nil, []byte(bodies[0])); err == nil {
				shown = string(text)
			}
		}
		if codes[0] != codes[1] || bodies[0] != bodies[1] {
			t.Errorf("%s tells of others: %d %s\nwithout them: %d %s", request, codes[0], shown, codes[1], bodies[1])
		}
		if strings.Contains(strings.ReplaceAll(shown, askedFor(request), ""), "secret") {
			t.Errorf("%s shows what is not the user's: %d %s", request, codes[0], shown)
		}
		if codes[0] == http.StatusForbidden || codes[0] == http.StatusNotFound {
			t.Errorf("%s is refused: %d %s", request, codes[0], shown)
		}
		path, _, _ := strings.Cut(strings.TrimSuffix(request, " streamed"), "?")
		asked[api.Endpoint(api.Prefix+path)] = true
	}
	for _, route := range api.Routes() {
		if !asked[route] && route != api.Prefix+"status/runtimeinfo" { // it has the time
			t.Errorf("no request of %s is tried for a limited user", route)
		}
	}
	// The requests find something, and without limits they find the others'.
	if _, body := askQuery(t, with, queriedRequests[0]); !strings.Contains(body, `"path":"team/a"`) || !strings.Contains(body, `"requests_total"`) {
		t.Errorf("the user's own series are missing: %s", body)
	}
	u = access.Everything()
	for _, request := range []string{"rules", "label/job/values", "metadata", queriedRequests[0], "read streamed"} {
		if _, body := askQuery(t, with, request); !strings.Contains(body, "secret") {
			t.Errorf("%s does not show all to a user without limits: %s", request, body)
		}
	}
	none := &access.User{Name: "nobody", Role: access.Read, Folders: []string{}}
	u = none
	for _, request := range queriedRequests {
		if _, body := askQuery(t, with, request); strings.Contains(strings.ReplaceAll(body, askedFor(request), ""), "own1") {
			t.Errorf("%s shows something to a user without a folder: %s", request, body)
		}
	}
}

// askedFor is the text of a request that errors and trees of expressions repeat.
func askedFor(request string) string {
	_, query, _ := strings.Cut(request, "query=")
	text, err := url.QueryUnescape(query)
	if err != nil || text == "" {
		return "\x00"
	}
	return text
}

// askQuery sends one of queriedRequests.
func askQuery(t *testing.T, h http.Handler, request string) (int, string) {
	t.Helper()
	path, query, _ := strings.Cut(request, "?")
	method, body := http.MethodGet, ""
	switch request {
	case "read":
		method, body = http.MethodPost, remoteRead(t, prompb.ReadRequest_SAMPLES)
	case "read streamed":
		method, path, body = http.MethodPost, "read", remoteRead(t, prompb.ReadRequest_STREAMED_XOR_CHUNKS)
	}
	r := httptest.NewRequest(method, api.Prefix+path, strings.NewReader(body))
	r.URL.RawQuery = strings.NewReplacer("{", "%7B", "}", "%7D", `"`, "%22", " ", "%20").Replace(query)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
