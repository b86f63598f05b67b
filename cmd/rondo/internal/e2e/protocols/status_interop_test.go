package protocols

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
)

// shape returns a value of JSON without its content: the type of each value, by its key. The first
// entry of a list stands for all.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for key, x := range v {
			out[key] = shape(x)
		}
		return out
	case []any:
		if len(v) == 0 {
			return []any{}
		}
		return []any{shape(v[0])}
	case nil:
		return nil
	case string:
		return "text"
	case bool:
		return "bool"
	}
	return "number"
}

// answered returns the status of an answer of Prometheus' API, and the shape of its JSON.
func answered(t *testing.T, address string) (code int, form any) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // it has been read
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return a.StatusCode, nil // text
	}
	return a.StatusCode, shape(v)
}

// TestStatusAsPrometheusInterop: what Grafana, promtool and Prometheus' pages ask beside queries
// has the keys of Prometheus' answers. Keys that the installed version does not have are added;
// flags are the server's.
func TestStatusAsPrometheusInterop(t *testing.T) {
	t.Parallel() // most of it is waiting
	prometheus := prometheusOf(t, "", frames(promBase()))
	db := filepath.Join(t.TempDir(), "rondo.db")
	fillForPrometheus(t, db, frames(promBase()))
	rondo := rondotest.Serve(t, db).URL
	empty := cmp.FilterValues(func(a, b []any) bool { return len(a) == 0 || len(b) == 0 }, cmp.Ignore()) // a list without entries shows no keys
	added := map[string][]string{                                                                        // since 2.42
		"status/runtimeinfo": {"hostname", "serverTime", "GOMEMLIMIT"},
		"targets":            {"droppedTargetCounts"},
	}
	for _, path := range []string{
		"status/buildinfo", "status/runtimeinfo", "status/tsdb", "status/config", "status/walreplay", "targets", "targets?state=active", "targets/metadata", "alertmanagers",
		"rules", "rules?type=alert", "alerts", "metadata", "query_exemplars?query=up&start=0&end=1", "format_query?query=" + url.QueryEscape("sum(up)by(x)"),
		"format_query?query=" + url.QueryEscape("sum("), "status/nothing", "query?query=1%2B1", "query_range?query=1&start=0&end=1&step=1", "labels", "series",
	} {
		code, got := answered(t, rondo+"/api/v1/"+path)
		want, wanted := answered(t, prometheus+"/api/v1/"+path)
		if own, ok := got.(map[string]any); ok {
			if data, ok := own["data"].(map[string]any); ok {
				maps.DeleteFunc(data, func(key string, _ any) bool { return slices.Contains(added[strings.Split(path, "?")[0]], key) })
			}
		}
		if code != want {
			t.Errorf("%s: status %d, want %d", path, code, want)
		}
		if diff := cmp.Diff(wanted, got, empty); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
	_, got := answered(t, rondo+"/api/v1/status/flags")
	_, wanted := answered(t, prometheus+"/api/v1/status/flags")
	for name, form := range got.(map[string]any)["data"].(map[string]any) {
		if flags := wanted.(map[string]any)["data"].(map[string]any); flags[name] != form {
			t.Errorf("flag %s is %v, want %v", name, form, flags[name])
		}
	}
	for _, path := range []string{"/-/healthy", "/-/ready"} {
		for _, server := range []string{rondo, prometheus} {
			if code, _ := answered(t, server+path); code != http.StatusOK {
				t.Errorf("%s%s: status %d", server, path, code)
			}
		}
	}
}
