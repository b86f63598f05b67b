package protocols

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/cmd/rondo/internal/rondotest"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/internal/seedtest"
	"github.com/rondo-db/rondo/query/prom/promtest"
	"github.com/rondo-db/rondo/rra"
)

// promBase returns the time of the first sample of promtest.Data: recent enough for the retention of
// a Prometheus.
func promBase() int64 {
	now := time.Now().Unix()
	return now - now%600 - 3*3600
}

// fillForPrometheus makes a database with one row for each sample of the series. Series whose name
// begins with frames are of the kind COUNTER.
func fillForPrometheus(t *testing.T, db string, all []promtest.Series) {
	t.Helper()
	store, err := core.Open(db, core.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	var b core.Batch
	for i, s := range all {
		kind, value := rra.Gauge, func(v float64) rra.Value { return rra.Float(v) }
		if strings.HasPrefix(s.Labels.Get(model.MetricNameLabel), "frames") {
			kind, value = rra.Counter, func(v float64) rra.Value { return rra.Int(int64(v)) }
		}
		d := &rra.Definition{
			Step:     promtest.Step,
			Sources:  []rra.DataSource{{Name: "value", Kind: kind, Heartbeat: 1 << 20, Min: math.NaN(), Max: math.NaN()}},
			Archives: []rra.Archive{{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 1000}},
		}
		spec := core.Spec{Path: "series/" + strconv.Itoa(i), Definition: d, Start: rra.Seconds(s.Samples[0].Time/1000 - d.Step)}
		s.Labels.Range(func(l labels.Label) { spec.Labels = append(spec.Labels, core.Label{Name: l.Name, Value: l.Value}) })
		ref, err := store.Create(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range s.Samples {
			b.Add(ref, rra.Seconds(p.Time/1000), value(p.Value))
		}
	}
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
}

// prometheusOf starts a Prometheus and returns its address. series, if any, are what it has; config
// is its configuration.
func prometheusOf(t *testing.T, config string, series []promtest.Series) string {
	t.Helper()
	rrdtooltest.Need(t, "prometheus", "promtool")
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if len(series) > 0 {
		var text strings.Builder
		for _, s := range series {
			for _, p := range s.Samples {
				fmt.Fprintf(&text, "%s %v %d\n", openMetrics(s.Labels), p.Value, p.Time/1000)
			}
		}
		text.WriteString("# EOF\n")
		write(t, filepath.Join(dir, "samples"), text.String())
		if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", filepath.Join(dir, "samples"), data).CombinedOutput(); err != nil {
			t.Fatalf("promtool: %v\n%s", err, out)
		}
	}
	return rrdtooltest.RunPrometheus(t, config, data).URL
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// openMetrics returns labels as the text format has them.
func openMetrics(ls labels.Labels) string {
	var parts []string
	ls.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			parts = append(parts, l.Name+"="+strconv.Quote(l.Value))
		}
	})
	return ls.Get(model.MetricNameLabel) + "{" + strings.Join(parts, ",") + "}"
}

// A promAnswer is an answer of Prometheus' API: values by series and time, or an error.
type promAnswer struct {
	code   int
	kind   string // of the error, or of the result
	values map[string]float64
	text   string
}

func askProm(t *testing.T, server, path string, form url.Values) promAnswer {
	t.Helper()
	r, err := http.PostForm(server+"/api/v1/"+path, form)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // it has been read
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		ErrorType, Error string
		Data             struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%s %v: %v: %s", path, form, err, body)
	}
	a := promAnswer{code: r.StatusCode, kind: answer.ErrorType + answer.Data.ResultType, values: make(map[string]float64), text: answer.Error}
	if answer.Data.Result == nil {
		return a
	}
	result := answer.Data.Result
	if kind := answer.Data.ResultType; kind == "scalar" || kind == "string" {
		result = fmt.Appendf(nil, `[{"value":%s}]`, result)
	}
	var series []struct {
		Metric map[string]string
		Value  []any
		Values [][]any
	}
	if err := json.Unmarshal(result, &series); err != nil {
		t.Fatal(err)
	}
	for _, s := range series {
		if s.Value != nil {
			s.Values = append(s.Values, s.Value)
		}
		for _, p := range s.Values {
			seconds, text := p[0].(float64), p[1].(string)
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				a.text += text
			}
			a.values[fmt.Sprint(s.Metric, time.UnixMilli(int64(math.Round(seconds*1000))).UTC().Format(" 15:04:05"))] = v
		}
	}
	return a
}

// differs returns how two answers differ; "" if values differ by the tolerance at most. exact says
// whether all bits are the same.
func (a promAnswer) differs(b promAnswer, tolerance float64) (how string, exact bool) {
	if a.code != b.code || a.kind != b.kind {
		return fmt.Sprintf("%d %s %s, Prometheus says %d %s %s", a.code, a.kind, a.text, b.code, b.kind, b.text), false
	}
	exact = true
	for key, v := range b.values {
		got, ok := a.values[key]
		if !ok {
			return fmt.Sprintf("nothing for %s, Prometheus has %v", key, v), false
		}
		if got == v || math.IsNaN(got) && math.IsNaN(v) {
			continue
		}
		exact = false
		if !(math.Abs(got-v) <= tolerance*max(math.Abs(got), math.Abs(v), 1e-3)) {
			return fmt.Sprintf("%v for %s, Prometheus has %v", got, key, v), false
		}
	}
	for key := range a.values {
		if _, ok := b.values[key]; !ok {
			return fmt.Sprintf("%v for %s, where Prometheus has nothing", a.values[key], key), false
		}
	}
	return "", exact
}

// TestQueriesAsPrometheusInterop: a server answers each query as a Prometheus that has the same
// samples. The times are beside the samples', because 2.42 takes a sample at the beginning of a
// range into it and 3.x does not.
func TestQueriesAsPrometheusInterop(t *testing.T) {
	t.Parallel() // most of it is waiting
	rrdtooltest.Need(t, "prometheus", "promtool")
	base := promBase()
	series := append(promtest.Data(base), frames(base)...)
	db := filepath.Join(t.TempDir(), "db")
	fillForPrometheus(t, db, series)
	rondo := rondotest.Serve(t, db).URL
	prometheus := prometheusOf(t, "global: {}\n", series)

	queries := promtest.Queries()
	r := seedtest.Rand(t)
	for range 60 {
		queries = append(queries, promtest.Random(r))
	}
	asked, same := 0, 0
	compare := func(expr string, tolerance float64) {
		at := url.Values{"query": {expr}, "time": {strconv.FormatInt(base+1205, 10)}}
		over := url.Values{"query": {expr}, "start": {strconv.FormatInt(base+605, 10)}, "end": {strconv.FormatInt(base+1505, 10)}, "step": {"60"}}
		for path, form := range map[string]url.Values{"query": at, "query_range": over} {
			how, exact := askProm(t, rondo, path, form).differs(askProm(t, prometheus, path, form), tolerance)
			if how != "" {
				t.Errorf("%s %s: %s", path, expr, how)
			}
			if asked++; exact {
				same++
			}
		}
	}
	for _, expr := range queries {
		if !differsByVersion.MatchString(expr) {
			compare(promtest.At(expr, strconv.FormatInt(base+905, 10)), 1e-9) // the order of sums differs
		}
	}
	// The rows of a COUNTER are rates. Queries make a counter of them again.
	for _, expr := range []string{
		"rate(frames_total[5m])", "sum(rate(frames_total[2m]))", "increase(frames_total[5m])", "irate(frames_total[5m])", `rate(frames_total{camera="a"}[1m])`,
		"sum by (camera) (increase(frames_total[10m]))", "rate(frames_total[5m] offset 2m)", "avg_over_time(rate(frames_total[1m] offset 5s)[5m:1m])",
	} {
		compare(expr, 0.005)
	}
	t.Logf("%d answers, %d of them with the same bits", asked, same)
	if asked < 2*250 {
		t.Errorf("only %d answers", asked)
	}
	promtoolsAgree(t, rondo, prometheus, base)
	readsRemotely(t, rondo, base)
}

// differsByVersion matches queries that two Prometheus servers may answer differently: atan2 of a
// number kept the name in 2.42, stddev of one infinite value was 0, and of equal values topk and
// bottomk choose by the order of series.
var differsByVersion = regexp.MustCompile(`load atan2 2|2 atan2 load|^(topk|bottomk)\(|stddev .*(exp|sqrt|/|%)`)

// frames returns counters that grow unevenly.
func frames(base int64) (all []promtest.Series) {
	for k, camera := range []string{"a", "b"} {
		s := promtest.Series{Labels: labels.FromStrings("__name__", "frames_total", "camera", camera)}
		n := 1_000_000 * k
		for i := range int64(180) {
			n += 100 + int(i)*(k+1) + int(i*i%17)
			s.Samples = append(s.Samples, promtest.Sample{Time: (base + i*promtest.Step) * 1000, Value: float64(n)})
		}
		all = append(all, s)
	}
	return all
}

// promtoolsAgree asks two servers by promtool and compares what it prints.
func promtoolsAgree(t *testing.T, rondo, prometheus string, base int64) {
	t.Helper()
	second := func(n int64) string { return strconv.FormatInt(base+n, 10) }
	for _, args := range [][]string{
		{"instant", "--time=" + second(1205), "@", "sort(load)"},
		{"instant", "--time=" + second(1205), "@", "nothing"},
		{"instant", "--time=" + second(1205), "-o", "json", "@", "sum(load)"},
		{"range", "--start=" + second(605), "--end=" + second(905), "--step=1m", "@", "sum by (job) (load)"},
		{"series", "--match=load", "--match={job=\"db\",le=~\".+\"}", "--start=" + second(0), "--end=" + second(1790), "@"},
		{"series", "--match=nothing", "@"},
		{"labels", "@", "instance"},
		{"labels", "@", "nothing"},
		{"instant", "@", "1 +"},
	} {
		run := func(server string) string {
			ctx, cancel := context.WithTimeout(t.Context(), rondotest.Patience)
			defer cancel()
			own := append([]string{"query"}, args...)
			own[slices.Index(own, "@")] = server
			out, err := exec.CommandContext(ctx, "promtool", own...).CombinedOutput()
			lines := strings.Split(string(out), "\n")
			slices.Sort(lines) // the order of labels and series of promtool's maps differs
			return strings.ReplaceAll(strings.Join(lines, "\n"), server, "@") + fmt.Sprint(err)
		}
		if got, want := run(rondo), run(prometheus); got != want {
			t.Errorf("promtool query %q prints\n%s\nwant\n%s", args, got, want)
		}
	}
}

// readsRemotely starts a Prometheus without data that reads rondo, and compares its answers.
func readsRemotely(t *testing.T, rondo string, base int64) {
	t.Helper()
	through := prometheusOf(t, "remote_read:\n- url: "+rondo+"/api/v1/read\n  read_recent: true\n", nil)
	for _, expr := range []string{
		"load", "sum by (job) (rate(requests_total[1m]))", `max_over_time({instance=~"a|b",job!="db"}[2m])`, "late", "nothing", `load{instance=~"["}`,
		"rate(seconds_count[5m] offset 1m)", `{__name__=~"seconds_.*",le!~"1|5"}`,
	} {
		form := url.Values{"query": {expr}, "start": {strconv.FormatInt(base+605, 10)}, "end": {strconv.FormatInt(base+1505, 10)}, "step": {"60"}}
		if how, _ := askProm(t, rondo, "query_range", form).differs(askProm(t, through, "query_range", form), 1e-9); how != "" {
			t.Errorf("%s through remote read: %s", expr, how)
		}
	}
}
