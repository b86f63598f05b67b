package api_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/rondo-db/rondo/internal/limit"
	"github.com/rondo-db/rondo/query/prom/api"
	"github.com/rondo-db/rondo/query/prom/promtest"
)

// clock is what answers say of the time now.
var clock = regexp.MustCompile(`"maxTime":\d+`)

// TestCountsOfMoreThanASelectorFinds: status/tsdb of a million series was an error.
func TestCountsOfMoreThanASelectorFinds(t *testing.T) {
	m := small(t)
	m.Most = 3
	h := api.New(api.Config{Storage: m})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/v1/status/tsdb", nil))
	for _, want := range []string{`"numSeries":6,`, `"seriesCountByMetricName":[{"name":"load","value":3},{"name":"up","value":3}]`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s, want %s", w.Body, want)
		}
	}
}

// TestAnswers: answers have Prometheus' form to the byte.
func TestAnswers(t *testing.T) {
	m := small(t)
	m.Add(labels.FromStrings("__name__", "odd", "text", "a\"b\\c\nd\x01é\xff"), promtest.Sample{Time: base*1000 + 5, Value: math.Inf(1)})
	m.Add(labels.FromStrings("__name__", "tiny"), promtest.Sample{Time: base*1000 + 50, Value: 1e-7}, promtest.Sample{Time: base*1000 + 500, Value: 1e21}, promtest.Sample{Time: base*1000 + 1000, Value: -0.5}, promtest.Sample{Time: base*1000 + 2000, Value: math.NaN()})
	about := func(_ context.Context, metric string) (map[string][]metadata.Metadata, error) {
		all := map[string][]metadata.Metadata{"up": {{Type: "gauge", Help: "it is"}, {Unit: "s"}}, "load": {{}}}
		if metric != "" {
			return map[string][]metadata.Metadata{metric: all[metric]}, nil
		}
		return all, nil
	}
	h := api.New(api.Config{Storage: m, Metadata: about})
	for _, c := range []struct{ request, want string }{
		{"GET query?query=1+1&time=1.5", `{"resultType":"scalar","result":[1.5,"2"]}`},
		{`GET query?query="x"&time=-0.25`, `{"resultType":"string","result":[-0.25,"x"]}`},
		{"GET query?query=nothing", `{"resultType":"vector","result":[]}`},
		{"GET query_range?query=nothing&start=0&end=1&step=1", `{"resultType":"matrix","result":[]}`},
		{`GET query?query=up{host="a"}` + at, `{"resultType":"vector","result":[{"metric":{"__name__":"up","host":"a","odd.name":"x"},"value":[1700000600,"60"]}]}`},
		{fmt.Sprintf(`GET query_range?query=sum(up{host!="c"})&start=%d&end=%d&step=10`, base, base+10), `{"resultType":"matrix","result":[{"metric":{},"values":[[1700000000,"100"],[1700000010,"102"]]}]}`},
		{fmt.Sprintf(`GET query?query=tiny[1m]&time=%d`, base+30), `{"resultType":"matrix","result":[{"metric":{"__name__":"tiny"},"values":[[1700000000.05,"1e-07"],[1700000000.5,"1e+21"],[1700000001,"-0.5"],[1700000002,"NaN"]]}]}`},
		{fmt.Sprintf("GET query?query=odd&time=%d", base+1), `{"resultType":"vector","result":[{"metric":{"__name__":"odd","text":"a\"b\\c\nd\u0001é\ufffd"},"value":[1700000001,"+Inf"]}]}`},
		{"GET labels?match[]=up", `["__name__","host","odd.name"]`},
		{"GET labels?match[]=nothing", `[]`},
		{"GET label/host/values", `["a","b","c"]`},
		{"GET label/host/values?match[]={host=\"b\"}&match[]={host=\"a\"}", `["a","b"]`},
		{"GET label/U__odd_2e_name/values", `["x","xx","xxx"]`},
		{"GET label/nothing/values", `[]`},
		{`GET series?match[]=up{host="a"}&match[]={host="a"}`, `[{"__name__":"load","host":"a","odd.name":"x"},{"__name__":"up","host":"a","odd.name":"x"}]`},
		{"GET series?match[]=up&start=0&end=1", `[]`},
		{"GET metadata", `{"load":[{"type":"unknown","help":"","unit":""}],"up":[{"type":"gauge","help":"it is","unit":""},{"type":"unknown","help":"","unit":"s"}]}`},
		{"GET metadata?limit=1&limit_per_metric=1", `{"load":[{"type":"unknown","help":"","unit":""}]}`},
		{"GET metadata?metric=up&limit_per_metric=1", `{"up":[{"type":"gauge","help":"it is","unit":""}]}`},
		{"GET metadata?limit=0", `{}`},
		{"GET rules", `{"groups":[]}`},
		{"GET rules?type=ALERT", `{"groups":[]}`},
		{"GET alerts", `{"alerts":[]}`},
		{"GET query_exemplars?query=up", `[]`},
		{"GET format_query?query=sum(up)by(host)", `"sum by (host) (up)"`},
		{"GET status/tsdb?limit=2", `{"headStats":{"numSeries":8,"numLabelPairs":11,"chunkCount":0,"minTime":0,"maxTime":0},` +
			`"seriesCountByMetricName":[{"name":"load","value":3},{"name":"up","value":3}],"labelValueCountByLabelName":[{"name":"__name__","value":4},{"name":"host","value":3}],` +
			`"memoryInBytesByLabelName":[{"name":"__name__","value":89},{"name":"odd.name","value":60}],"seriesCountByLabelValuePair":[{"name":"__name__=load","value":3},{"name":"__name__=up","value":3}]}`},
		{"GET targets", `{"activeTargets":[],"droppedTargets":[],"droppedTargetCounts":{}}`},
		{`GET parse_query?query=-up{host="a"}`, `{"expr":{"anchored":false,"matchers":[{"name":"host","type":"=","value":"a"},{"name":"__name__","type":"=","value":"up"}],"name":"up","offset":0,"smoothed":false,"startOrEnd":null,"timestamp":null,"type":"vectorSelector"},"op":"-","type":"unaryExpr"}`},
	} {
		method, path, _ := strings.Cut(c.request, " ")
		path, query, _ := strings.Cut(path, "?")
		a := ask(t, h, method, path, query, "")
		got := clock.ReplaceAllString(a.Body.String(), `"maxTime":0`)
		if want := `{"status":"success","data":` + c.want + `}`; got != want {
			t.Errorf("%s: %d\n got %s\nwant %s", c.request, a.Code, got, want)
		}
	}
}

// TestFormsAreMerged: parameters may stand in the address and in the body, whose value comes first.
func TestFormsAreMerged(t *testing.T) {
	h := api.New(api.Config{Storage: small(t)})
	got := ask(t, h, "POST", "query", "time=1&query=3", "query=1%2B1")
	if want := `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`; got.Body.String() != want {
		t.Errorf("got %s, want %s", got.Body, want)
	}
	got = ask(t, h, "POST", "series", "match[]=up%7Bhost=%22a%22%7D", "match[]=load%7Bhost=%22a%22%7D")
	if n := strings.Count(got.Body.String(), "__name__"); n != 2 {
		t.Errorf("%d series, want 2: %s", n, got.Body)
	}
	r := httptest.NewRequest("POST", api.Prefix+"query?time=1", strings.NewReader(`{"query":"1"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != 400 {
		t.Errorf("a body that is no form was read: %d %s", w.Code, w.Body)
	}
	if got := ask(t, h, "POST", "query", "query=1", "x="+strings.Repeat("y", 2<<20)); got.Code != 400 {
		t.Errorf("a form of two megabytes: %d", got.Code)
	}
}

// TestLimitsWarn: an answer that a limit has shortened says so.
func TestLimitsWarn(t *testing.T) {
	h := api.New(api.Config{Storage: small(t)})
	for _, path := range []string{"labels?limit=1", "label/host/values?limit=2", "series?match[]=up&limit=1", "query?query=up&limit=2" + at, fmt.Sprintf("query_range?query=up&limit=1&start=%d&end=%d&step=10", base, base+20)} {
		name, query, _ := strings.Cut(path, "?")
		got := ask(t, h, "GET", name, query, "")
		if !strings.HasSuffix(got.Body.String(), `"warnings":["results truncated due to limit"]}`) {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	if got := ask(t, h, "GET", "query", "query=rate(up[1m])"+at, ""); !strings.Contains(got.Body.String(), `"infos":["PromQL info: metric might not be a counter`) {
		t.Errorf("no info about a rate of something that is no counter: %s", got.Body)
	}
	if got := ask(t, h, "GET", "query", "query=sum(up)&stats=all"+at, ""); !strings.Contains(got.Body.String(), `"totalQueryableSamplesPerStep"`) {
		t.Errorf("no statistics: %s", got.Body)
	}
	if got := ask(t, h, "GET", "query", fmt.Sprintf("query=up&lookback_delta=1m&time=%d", base+665), ""); strings.Contains(got.Body.String(), "__name__") {
		t.Errorf("a minute's look-back finds what is older: %s", got.Body)
	}
}

// TestGzip: long answers are packed for those who take that, and only for them.
func TestGzip(t *testing.T) {
	h := api.New(api.Config{Storage: small(t)})
	url := fmt.Sprintf("%squery_range?query=up&start=%d&end=%d&step=1", api.Prefix, base, base+600)
	get := func(accept, url string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", url, http.NoBody)
		r.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	plain := get("gzip;q=0, br", url)
	if ce := plain.Header().Get("Content-Encoding"); ce != "" {
		t.Errorf("packed as %q without being asked for", ce)
	}
	packed := get("br, gzip", url)
	if ce := packed.Header().Get("Content-Encoding"); ce != "gzip" {
		t.Fatalf("Content-Encoding is %q", ce)
	}
	z, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != plain.Body.String() {
		t.Errorf("the packed answer differs: %d bytes, %d without", len(text), plain.Body.Len())
	}
	if short := get("gzip", api.Prefix+"query?query=1"); short.Header().Get("Content-Encoding") != "" || short.Header().Get("Content-Length") == "" {
		t.Errorf("a short answer has the head %v", short.Header())
	}
}

// TestBudgetRefuses: an answer that the memory for answers does not hold is refused as unavailable.
func TestBudgetRefuses(t *testing.T) {
	answers, none := api.New(api.Config{Storage: small(t)}), limit.New(1, 1).Open("")
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answers.ServeHTTP(w, r.WithContext(limit.With(r.Context(), none)))
	})
	for _, path := range []string{"query?query=up" + at, "series?match[]=up", "labels"} {
		name, query, _ := strings.Cut(path, "?")
		if got := ask(t, h, "GET", name, query, ""); got.Code != 503 || !strings.Contains(got.Body.String(), `"errorType":"unavailable"`) {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}
