package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/prom/promtest"
)

// FuzzParameters sends any parameters to any path: each answer is JSON with one of Prometheus'
// statuses, or the text for an unknown path.
func FuzzParameters(f *testing.F) {
	var m promtest.Memory
	for _, s := range promtest.Data(base)[:8] {
		m.Add(s.Labels, s.Samples[:20]...)
	}
	h := api.New(api.Limited(api.Config{Storage: &m}, 20_000, 2, 200*time.Millisecond))
	for _, seed := range []struct{ path, form string }{
		{"query", "query=load&time=1700000100"},
		{"query_range", "query=rate(requests_total[1m])&start=1700000000&end=1700000190&step=10&stats=all&limit=2"},
		{"query_range", "query=1&start=-9223372036854775.808&end=9223372036854775.807&step=1e9"}, // the difference does not fit
		{"query_range", "query=load&start=0&end=1e-9&step=1e-9"},
		{"query", "query=load&time=2262-04-11T23:47:16.854775807Z&timeout=1e-9&lookback_delta=-1"},
		{"query", "query=count_values(%22%22,load)%20by%20(__name__)"},
		{"series", "match[]=load&match[]={__name__=~%22.%2B%22}&start=1&end=0"},
		{"label/U___ff_/values", "limit=9223372036854775807"},
		{"label/%zz/values", ""},
		{"format_query", "query=((((1))))"},
		{"parse_query", "query=a%20and%20on(b)%20group_left(c)%20d"},
		{"metadata", "limit=-1"},
		{"rules", "type=%00"},
		{"query_exemplars", "query=%ff"},
		{"labels", "%zz;a=b"},
	} {
		f.Add(seed.path, seed.form)
	}
	statuses := []int{200, 204, 400, 404, 405, 422, 499, 500, 503}
	f.Fuzz(func(t *testing.T, path, form string) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			r := &http.Request{Method: method, URL: &url.URL{Path: api.Prefix + path, RawQuery: form}, Header: make(http.Header)}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r.WithContext(t.Context()))
			if !slices.Contains(statuses, w.Code) {
				t.Errorf("%s %q %q: status %d", method, path, form, w.Code)
			}
			if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
				t.Errorf("%s %q %q: no JSON: %s", method, path, form, w.Body)
			}
		}
	})
}

// FuzzRemoteRead sends any message: the answer is a stream, a message or an error of the client.
func FuzzRemoteRead(f *testing.F) {
	var m promtest.Memory
	for _, s := range promtest.Data(base)[:4] {
		m.Add(s.Labels, s.Samples...)
	}
	h := api.New(api.Limited(api.Config{Storage: &m}, 500, 2, 200*time.Millisecond))
	for _, accepted := range [][]prompb.ReadRequest_ResponseType{nil, {1}, {9, 0}} {
		b, err := (&prompb.ReadRequest{Queries: []*prompb.Query{matching(prompb.LabelMatcher_RE, "job", "w.*")}, AcceptedResponseTypes: accepted}).Marshal()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		if w := readRaw(h, snappy.Encode(nil, message)); w.Code != http.StatusOK && w.Code != http.StatusBadRequest && w.Code != http.StatusServiceUnavailable {
			t.Errorf("%x: %d %s", message, w.Code, w.Body)
		}
		readRaw(h, message)
	})
}
