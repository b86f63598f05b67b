package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/query/prom/api"
)

// TestStatusCodes: each odd request gets the status and the type of error that Prometheus gives it.
func TestStatusCodes(t *testing.T) {
	h := api.New(api.Config{Storage: small(t), Memory: 1 << 30})
	span := fmt.Sprintf("&start=%d&end=%d", base, base+600)
	for _, c := range []struct {
		name, request string // method and what follows the prefix
		code          int
		kind, says    string // of the error
	}{
		{"parse error", "GET query?query=1%2B", 400, "bad_data", `invalid parameter "query": 1:3: parse error: unexpected end of input`},
		{"missing query", "GET query", 400, "bad_data", `invalid parameter "query": unknown position: parse error: no expression found in input`},
		{"missing start", "GET query_range?query=1&end=1&step=1", 400, "bad_data", `invalid parameter "start": cannot parse "" to a valid timestamp`},
		{"missing end", "GET query_range?query=1&start=1&step=1", 400, "bad_data", `invalid parameter "end": cannot parse "" to a valid timestamp`},
		{"missing step", "GET query_range?query=1&start=1&end=1", 400, "bad_data", `invalid parameter "step": cannot parse "" to a valid duration`},
		{"time is text", "GET query?query=1&time=foo", 400, "bad_data", `invalid parameter "time": invalid time value for 'time': cannot parse "foo" to a valid timestamp`},
		{"time overflows", "GET query?query=1&time=1e400", 400, "bad_data", `cannot parse "1e400"`},
		{"time is NaN", "GET query?query=1&time=NaN", 400, "bad_data", `cannot parse "NaN"`},
		{"time is infinite", "GET query_range?query=1&start=0&end=Inf&step=1", 400, "bad_data", `cannot parse "Inf"`},
		{"timeout is text", "GET query?query=1&timeout=foo", 400, "bad_data", `invalid parameter "timeout": cannot parse "foo" to a valid duration`},
		{"step is text", "GET query_range?query=1&start=1&end=1&step=foo", 400, "bad_data", `invalid parameter "step"`},
		{"step overflows", "GET query_range?query=1&start=1&end=1&step=1e300", 400, "bad_data", `It overflows int64`},
		{"step is NaN", "GET query_range?query=1&start=1&end=1&step=NaN", 400, "bad_data", `invalid parameter "step"`},
		{"step is zero", "GET query_range?query=1&start=1&end=1&step=0", 400, "bad_data", `invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer`},
		{"step is negative", "GET query_range?query=1&start=1&end=1&step=-1", 400, "bad_data", `zero or negative`},
		{"step below a millisecond", "GET query_range?query=1&start=1&end=2&step=0.0001", 400, "bad_data", `less than a millisecond`},
		{"end before start", "GET query_range?query=1&start=2&end=1&step=1", 400, "bad_data", `invalid parameter "end": end timestamp must not be before start time`},
		{"range vector in a range", "GET query_range?query=up[5m]&step=15" + span, 400, "bad_data", `invalid expression type "range vector" for range query, must be Scalar or instant Vector`},
		{"string in a range", `GET query_range?query="x"&step=15` + span, 400, "bad_data", `invalid expression type "string"`},
		{"too many points", "GET query_range?query=1&start=0&end=11001&step=1", 400, "bad_data", `exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)`},
		{"all of time", "GET query_range?query=1&start=-9e15&end=9e15&step=8760h", 400, "bad_data", `exceeded maximum resolution`},
		{"as many points as there may be", "GET query_range?query=1&start=0&end=11000&step=1", 200, "", ""},
		{"no matcher", "GET series", 400, "bad_data", `no match[] parameter provided`},
		{"matcher of everything", "GET series?match[]={}", 400, "bad_data", ``},
		{"matcher of nothing", `GET series?match[]={host=~".*"}`, 400, "bad_data", `invalid parameter "match[]": match[] must contain at least one non-empty matcher`},
		{"matcher that cannot be read", `GET series?match[]=up{`, 400, "bad_data", `invalid parameter "match[]": 1:4: parse error: unexpected end of input inside braces`},
		{"matcher of nothing for labels", `GET labels?match[]={host=""}`, 400, "bad_data", `match[] must contain at least one non-empty matcher`},
		{"matcher of nothing for values", `GET label/host/values?match[]={host!="x"}`, 400, "bad_data", `match[] must contain at least one non-empty matcher`},
		{"expression as matcher", "GET series?match[]=rate(up[1m])", 400, "bad_data", ``},
		{"no name of a label", "GET label/%ff/values", 400, "bad_data", `invalid label name: "\xff"`},
		{"limit is text", "GET labels?limit=x", 400, "bad_data", `invalid parameter "limit"`},
		{"limit is negative", "GET series?match[]=up&limit=-1", 400, "bad_data", `invalid parameter "limit": limit must be non-negative`},
		{"limit of a query is text", "GET query?query=1&limit=x", 400, "bad_data", `invalid parameter "limit"`},
		{"lookback is text", "GET query?query=1&lookback_delta=x", 400, "bad_data", `error parsing lookback delta duration: cannot parse "x" to a valid duration`},
		{"rules of an unknown type", "GET rules?type=foo", 400, "bad_data", `invalid parameter "type": not supported value "foo"`},
		{"groups of rules by no number", "GET rules?group_limit=x", 400, "bad_data", `invalid parameter "group_limit": group_limit needs to be a valid number`},
		{"rules of an unreadable matcher", "GET rules?match[]=up{", 400, "bad_data", `1:4: parse error: unexpected end of input inside braces`},
		{"no group of rules", "GET rules?group_limit=0", 400, "bad_data", `invalid parameter "group_limit": group_limit needs to be greater than 0`},
		{"a page of unknown size", "GET rules?group_next_token=x", 400, "bad_data", `invalid parameter "group_next_token": group_limit needs to be present in order to paginate over the groups`},
		{"metadata with a limit of text", "GET metadata?limit=x", 400, "bad_data", `limit must be a number`},
		{"metadata with another limit of text", "GET metadata?limit_per_metric=x", 400, "bad_data", `limit_per_metric must be a number`},
		{"exemplars that end early", "GET query_exemplars?query=up&start=2&end=1", 400, "bad_data", `end timestamp must not be before start timestamp`},
		{"many to many", "GET query?query=up*on(x)up" + at, 422, "execution", `found duplicate series for the match group`},
		{"duplicate label sets", `GET query?query=label_replace({host="a"},"__name__","x","","")` + at, 422, "execution", `vector cannot contain metrics with the same labelset`},
		{"bad expression in label_replace", `GET query?query=label_replace(up,"a","b","c","(")` + at, 422, "execution", `invalid regular expression in label_replace(): (`},
		{"no time at all", "GET query?query=up&timeout=0.000000001" + at, 503, "timeout", `query timed out`},
		{"unknown path", "GET nothing", 404, "", "404 page not found\n"},
		{"label without values", "GET label/host", 404, "", "404 page not found\n"},
		{"empty label", "GET label//values", 404, "", "404 page not found\n"},
		{"GET on read", "GET read", 405, "", "Method Not Allowed\n"},
		{"POST on values", "POST label/host/values", 405, "", "Method Not Allowed\n"},
		{"DELETE of series", "DELETE series?match[]=up", 405, "", "Method Not Allowed\n"},
		{"OPTIONS", "OPTIONS query", 204, "", ""},
		{"OPTIONS of anything", "OPTIONS no/such/path", 204, "", ""},
		{"read without a body", "POST read", 400, "", "snappy"},
		{"label with an escaped name", "GET label/U__odd_2e_name/values", 200, "", ""},
		{"label with a dot", "GET label/odd.name/values", 200, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			method, path, _ := strings.Cut(c.request, " ")
			path, query, _ := strings.Cut(path, "?")
			got := ask(t, h, method, path, query, "")
			if got.Code != c.code {
				t.Errorf("status %d, want %d: %s", got.Code, c.code, got.Body)
			}
			if c.kind == "" {
				if c.code >= 400 && !strings.Contains(got.Body.String(), c.says) {
					t.Errorf("the answer is %q, want %q", got.Body, c.says)
				}
				return
			}
			var e struct{ Status, ErrorType, Error string }
			if err := json.Unmarshal(got.Body.Bytes(), &e); err != nil {
				t.Fatalf("no JSON: %v: %s", err, got.Body)
			}
			if e.Status != "error" || e.ErrorType != c.kind || !strings.Contains(e.Error, c.says) {
				t.Errorf("answer %+v, want %s with %q", e, c.kind, c.says)
			}
			if ct := got.Header().Get("Content-Type"); ct != "application/json" {
				t.Errorf("content type %q", ct)
			}
		})
	}
}

// at is the parameter for the time of the last samples of small.
var at = fmt.Sprintf("&time=%d", base+600)

// ask sends a request to h. The parts of query are escaped here.
func ask(t *testing.T, h http.Handler, method, path, query, body string) *httptest.ResponseRecorder {
	t.Helper()
	values := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		if k, v, ok := strings.Cut(part, "="); ok {
			if plain, err := url.QueryUnescape(strings.ReplaceAll(v, "+", "%2B")); err == nil {
				v = plain
			}
			values.Add(k, v)
		}
	}
	r := httptest.NewRequest(method, api.Prefix+path+"?"+values.Encode(), strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
