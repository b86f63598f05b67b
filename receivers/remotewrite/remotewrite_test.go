package remotewrite_test

import (
	"bytes"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/remotewrite"
	"github.com/rondo-db/rondo/rra"
)

// type2 is the content type of version 2.0.
const type2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"

// post returns a request with a body. header are names and values of further headers.
func post(t testing.TB, url string, body []byte, header ...string) *http.Request {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/v1/write", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/x-protobuf")
	q.Header.Set("Content-Encoding", "snappy")
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	return q
}

var testCase = receivertest.Case{
	Protocol: remotewrite.Protocol,
	Message: func(n int) []byte {
		return snappy.Encode(nil, remotewrite.AppendRequest(nil, []remotewrite.TimeSeries{
			ts("up job=a instance=b", sample(n, float64(n))),
		}, nil))
	},
	Garbage: [][]byte{
		[]byte("x"),
		{},
		snappy.Encode(nil, []byte("x")),
		snappy.Encode(nil, bytes.Repeat([]byte{0x0a}, 1000)),
		snappy.Encode(nil, remotewrite.AppendRequest(nil, []remotewrite.TimeSeries{ts("", sample(1, 1)), ts("x", sample(-1e6, 1))}, nil)),
		{0xff, 0xff, 0xff, 0xff, 0x0f}, // 4 GiB announced
	},
	Request: func(t testing.TB, url string, message []byte) *http.Request { return post(t, url, message) },
}

// ts returns a series: "NAME LABEL=VALUE …".
func ts(name string, samples ...remotewrite.Sample) remotewrite.TimeSeries {
	x := remotewrite.TimeSeries{Samples: samples}
	for i, word := range strings.Fields(name) {
		label, value, ok := strings.Cut(word, "=")
		if i == 0 && (!ok || strings.HasSuffix(word, "}")) {
			label, value = "__name__", word
		}
		x.Labels = append(x.Labels, remotewrite.Label{Name: label, Value: value})
	}
	return x
}

// sample returns a sample n seconds after the epoch.
func sample(n int, v float64) remotewrite.Sample { return milli(1000*n, v) }

// milli returns a sample n milliseconds after the epoch.
func milli(n int, v float64) remotewrite.Sample {
	return remotewrite.Sample{Value: v, Time: receivertest.Epoch*1000 + int64(n)}
}

var stale = math.Float64frombits(0x7ff0000000000002)

// TestSuite: it does what every receiver must do.
func TestSuite(t *testing.T) { receivertest.Run(t, testCase) }

// A running is a receiver under test.
type running struct {
	*receivertest.Running
	t testing.TB
}

func start(t testing.TB, options ...string) running {
	t.Helper()
	c := testCase
	c.Options = make(map[string][]string)
	for i := 0; i+1 < len(options); i += 2 {
		c.Options[options[i]] = []string{options[i+1]}
	}
	return running{receivertest.Start(t, c, new(receivertest.Recorder), nil), t}
}

// send sends series and fails the test unless the answer has the status and a text that contains
// want.
func (r running) send(status int, want string, series ...remotewrite.TimeSeries) receivertest.Answer {
	r.t.Helper()
	a := r.Ask(snappy.Encode(nil, remotewrite.AppendRequest(nil, series, nil)))
	r.answer(a, status, want)
	return a
}

// send2 is send for version 2.0.
func (r running) send2(status int, want string, series ...remotewrite.TimeSeries) receivertest.Answer {
	r.t.Helper()
	a := r.Do(post(r.t, r.URL(), snappy.Encode(nil, remotewrite.AppendRequest2(nil, series)), "Content-Type", type2))
	r.answer(a, status, want)
	return a
}

func (r running) answer(a receivertest.Answer, status int, want string) {
	r.t.Helper()
	if a.Status != status || !strings.Contains(a.Text, want) || (want == "") != (a.Text == "") {
		r.t.Errorf("the answer is %d %q, want %d %q", a.Status, a.Text, status, want)
	}
}

// A kept is a sample that was stored: seconds after the epoch, and a value.
type kept struct{ At, Value float64 }

func (r running) samples(path string) (out []kept) {
	for _, s := range r.Recorder.Samples() {
		if s.Path == path {
			at := float64(s.At-rra.Seconds(receivertest.Epoch)) / 1e6
			out = append(out, kept{at, rra.NumericValue(rra.Gauge, s.Values[0], nil)})
		}
	}
	return out
}

func (r running) want(path string, want ...kept) {
	r.t.Helper()
	sameNaN := cmp.Comparer(func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) })
	if diff := cmp.Diff(want, r.samples(path), sameNaN); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestVersions: both versions fill the same series, each with its own content type.
func TestVersions(t *testing.T) {
	r := start(t)
	r.send(204, "", ts("up instance=b job=a", sample(0, 1)))
	a := r.send2(204, "", ts("up instance=b job=a", sample(15, 2)))
	if got := a.Header.Get("X-Prometheus-Remote-Write-Samples-Written"); got != "1" {
		t.Errorf("%s samples are told as written, want 1", got)
	}
	for _, name := range []string{"Histograms", "Exemplars"} {
		if got := a.Header.Get("X-Prometheus-Remote-Write-" + name + "-Written"); got != "0" {
			t.Errorf("%s are told as %q, want 0", name, got)
		}
	}
	r.send(204, "", ts("up job=a instance=b", sample(30, 3))) // not sorted
	r.want("prometheus/a/b/up", kept{0, 1}, kept{15, 2}, kept{30, 3})
	if n := len(r.Recorder.Series()); n != 1 {
		t.Errorf("%d series, want 1", n)
	}
}

// TestHeaders: what is no message of a known kind is refused with 415, and senders of 1.0 need not
// say what they send.
func TestHeaders(t *testing.T) {
	r := start(t)
	body := snappy.Encode(nil, nil)
	for _, tt := range []struct {
		contentType, encoding string
		status                int
	}{
		{"application/x-protobuf", "snappy", 204},
		{"", "", 204},
		{"application/x-protobuf;proto=prometheus.WriteRequest", "Snappy", 204},
		{"application/x-protobuf; proto=prometheus.WriteRequest", "snappy", 204},
		{type2, "snappy", 204},
		{"application/x-protobuf;proto=io.prometheus.write.v3.Request", "snappy", 415},
		{"application/json", "snappy", 415},
		{"application/x-protobuf", "gzip", 415},
		{";", "snappy", 415},
	} {
		if a := r.Do(post(t, r.URL(), body, "Content-Type", tt.contentType, "Content-Encoding", tt.encoding)); a.Status != tt.status {
			t.Errorf("%q %q: %d %s, want %d", tt.contentType, tt.encoding, a.Status, a.Text, tt.status)
		}
	}
}

// TestMixed: good samples of a request are stored, and those that are refused are reported.
func TestMixed(t *testing.T) {
	for version, send := range map[string]func(running, int, string, ...remotewrite.TimeSeries) receivertest.Answer{
		"1.0": running.send, "2.0": running.send2,
	} {
		t.Run(version, func(t *testing.T) {
			r := start(t)
			for _, tt := range []struct {
				bad  remotewrite.TimeSeries
				want string
			}{
				{ts("=x", sample(1, 1)), "a label has no name"},
				{ts("job=x", sample(1, 1)), "there is no metric name"},
				{ts("__name__=", sample(1, 1)), "there is no metric name"},
				{ts("x a=1 a=2", sample(1, 1)), `the label "a" is there twice`},
				{ts("x a=\xff", sample(1, 1)), `the value of the label "a" is no UTF-8`},
				{ts("x \xff=a", sample(1, 1)), "no UTF-8"},
				{ts("x", sample(2_000_000, 1)), "x at 2023-12-08T01:46:40.000Z: the sample is too far in the future"},
				{ts("y", sample(-1_700_000_000, 1)), "the sample is from before 1970"},
				{ts("y", remotewrite.Sample{Time: math.MinInt64}), "the sample is from before 1970"},
				{ts("y", remotewrite.Sample{Time: math.MaxInt64}), "too far in the future"},
				{ts("x a="+strings.Repeat("x", 70_000), sample(1, 1)), "the labels are too long"},
			} {
				n := len(r.samples("prometheus/a/b/up")) + 1
				a := send(r, 400, tt.want, tt.bad, ts("up instance=b job=a", sample(n, float64(n))))
				if !strings.Contains(a.Text, "1 of 2 samples stored.") {
					t.Errorf("%s", a.Text)
				}
				if got := a.Header.Get("X-Prometheus-Remote-Write-Samples-Written"); version == "2.0" && got != "1" {
					t.Errorf("%q samples are told as written, want 1", got)
				}
				if got := len(r.samples("prometheus/a/b/up")); got != n {
					t.Errorf("%s: %d good samples are stored, want %d", tt.want, got, n)
				}
			}
		})
	}
}

// TestOrder: a sample that is sent again is taken as stored; another value for its time, and a time
// before it, are refused.
func TestOrder(t *testing.T) {
	r := start(t)
	r.send(204, "", ts("x", sample(0, 1), sample(10, 2)))
	r.send(204, "", ts("x", sample(10, 2)))
	r.send(400, "duplicate sample for timestamp", ts("x", sample(10, 3), sample(20, 4)))
	r.send(400, "out of order sample", ts("x", sample(19, 5), sample(30, 6)))
	r.send(400, "out of order sample", ts("x", sample(10, 2), sample(20, 4), sample(40, 7)))
	r.want("prometheus/-/-/x", kept{0, 1}, kept{10, 2}, kept{20, 4}, kept{30, 6}, kept{40, 7})
	st := r.Stats()
	t.Logf("%+v", st)
}

// TestEnd: a mark of staleness is an unknown sample; it makes no series.
func TestEnd(t *testing.T) {
	r := start(t)
	r.send(204, "", ts("x", sample(0, 1)), ts("y", sample(0, stale)))
	a := r.send2(204, "", ts("x", sample(15, stale)), ts("z", sample(15, stale)))
	if got := a.Header.Get("X-Prometheus-Remote-Write-Samples-Written"); got != "2" {
		t.Errorf("%s samples are told as written: marks count", got)
	}
	r.send(204, "", ts("x", sample(15, stale)))
	r.want("prometheus/-/-/x", kept{0, 1}, kept{15, math.NaN()})
	if n := len(r.Recorder.Series()); n != 1 {
		t.Errorf("%d series, want 1", n)
	}
}

// TestKinds: the kind of a new series is from its metadata, else from its name.
func TestKinds(t *testing.T) {
	r := start(t)
	a := r.Ask(snappy.Encode(nil, remotewrite.AppendRequest(nil, nil, []remotewrite.Metadata{
		{Family: "requests", Type: 1, Help: "how many"},
		{Family: "odd_total", Type: 2},
		{Family: "seconds", Type: 3, Unit: "s"},
		{Family: "quantiles", Type: 5},
	})))
	r.answer(a, 204, "")
	names := map[string]rra.Kind{
		"requests": rra.DDerive, "requests_total": rra.DDerive, "odd_total": rra.Gauge,
		"seconds_bucket": rra.DDerive, "seconds_count": rra.DDerive, "seconds_sum": rra.DDerive, "seconds": rra.Gauge,
		"quantiles": rra.Gauge, "quantiles_sum": rra.DDerive,
		"new_total": rra.DDerive, "new_sum": rra.DDerive, "new_count": rra.DDerive, "new_bucket": rra.DDerive, "new": rra.Gauge, "total": rra.Gauge,
	}
	for name := range names {
		r.send(204, "", ts(name, sample(0, 1)))
	}
	inline := ts("counts job=v2", sample(0, 1))
	inline.Type, inline.Help, inline.Unit = 1, "a help", "bytes"
	r.send2(204, "", inline)
	for _, s := range r.Recorder.Series() {
		name := s.Path[strings.LastIndexByte(s.Path, '/')+1:]
		want, ok := names[name]
		if !ok {
			want = rra.DDerive
		}
		if got := s.Definition.Sources[0]; got.Kind != want || (want == rra.DDerive) != (got.Min == 0) {
			t.Errorf("%s is %v from %v, want %v", s.Path, got.Kind, got.Min, want)
		}
	}
	for path, want := range map[string]string{
		"prometheus/-/-/requests":       "help=how many type=counter",
		"prometheus/-/-/seconds_bucket": "type=histogram unit=s",
		"prometheus/v2/-/counts":        "help=a help type=counter unit=bytes",
		"prometheus/-/-/new":            "",
	} {
		if got := r.attributes(path); got != want {
			t.Errorf("%s has the metadata %q, want %q", path, got, want)
		}
	}
	// Metadata that comes after the series, and changes.
	for _, help := range []string{"first", "second"} {
		a := r.Ask(snappy.Encode(nil, remotewrite.AppendRequest(nil, nil, []remotewrite.Metadata{{Family: "new", Type: 2, Help: help}})))
		r.answer(a, 204, "")
		if got, want := r.attributes("prometheus/-/-/new"), "help="+help+" type=gauge"; got != want {
			t.Errorf("the metadata is %q, want %q", got, want)
		}
	}
}

func (r running) attributes(path string) string {
	m, err := r.Recorder.Metadata(r.t.Context(), path)
	if err != nil {
		r.t.Fatal(err)
	}
	var words []string
	for _, a := range m.Attributes {
		words = append(words, a.Name+"="+a.Value)
	}
	return strings.Join(words, " ")
}

// TestResets: a counter that falls, or says that it began anew, counts from zero.
func TestResets(t *testing.T) {
	r := start(t)
	r.send(204, "", ts("x_total", sample(0, 10), sample(10, 20), sample(20, 5)))
	r.want("prometheus/-/-/x_total", kept{0, 10}, kept{10, 20}, kept{10.000001, 0}, kept{20, 5})
	again := ts("x_total", sample(30, 7))
	again.Created = sample(25, 0).Time
	r.send2(204, "", again)
	r.send2(204, "", again)
	r.want("prometheus/-/-/x_total", kept{0, 10}, kept{10, 20}, kept{10.000001, 0}, kept{20, 5}, kept{20.000001, 0}, kept{30, 7})
	fresh := ts("y_total", sample(30, 7))
	fresh.Created = sample(25, 0).Time
	r.send2(204, "", fresh)
	r.want("prometheus/-/-/y_total", kept{25, 0}, kept{30, 7})
	r.send(204, "", ts("z", sample(0, 10), sample(10, 5)))
	r.want("prometheus/-/-/z", kept{0, 10}, kept{10, 5})
}

// TestStep: the flag gives the step of new series, else the time between the first two samples
// of the job, which may come in one request or in two.
func TestStep(t *testing.T) {
	steps := func(store *core.Store) map[string]int64 {
		m := make(map[string]int64)
		for s, err := range store.Select(t.Context(), core.Query{Order: core.ByPath}) {
			if err != nil {
				t.Fatal(err)
			}
			m[s.Path] = s.Definition.Step
			if h := s.Definition.Sources[0].Heartbeat; h != 3*s.Definition.Step {
				t.Errorf("%s has the heartbeat %d, step %d", s.Path, h, s.Definition.Step)
			}
		}
		return m
	}
	want := func(store *core.Store, want map[string]int64) {
		t.Helper()
		if diff := cmp.Diff(want, steps(store)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	r, store := stored(t, t.TempDir(), nil)
	r.send(204, "", ts("x job=a", sample(0, 1)), ts("x_total job=b", sample(0, 1), sample(30, 1)), ts("x job=c", sample(0, 1)))
	want(store, map[string]int64{"prometheus/a/-/x": 15, "prometheus/b/-/x_total": 30, "prometheus/c/-/x": 15})
	r.send(204, "", ts("x job=a", milli(60_030, 2)), ts("y job=a", sample(60, 1)), ts("y job=b", sample(60, 1)), ts("x job=c", sample(15, 1)))
	want(store, map[string]int64{
		"prometheus/a/-/x": 60, "prometheus/a/-/y": 15, "prometheus/b/-/x_total": 30, "prometheus/b/-/y": 30, "prometheus/c/-/x": 15,
	})
	r.send(204, "", ts("y job=a", sample(180, 1)), ts("z job=a", sample(180, 1)))
	if got := steps(store); got["prometheus/a/-/y"] != 60 || got["prometheus/a/-/z"] != 60 {
		t.Errorf("later series of a job do not have its step: %v", got)
	}

	r, store = stored(t, t.TempDir(), map[string][]string{"remotewrite-step": {"20"}})
	r.send(204, "", ts("x job=a", sample(0, 1)))
	r.send(204, "", ts("x job=a", sample(60, 1)))
	want(store, map[string]int64{"prometheus/a/-/x": 20})
}

// TestTimes: times that have a constant offset within a second, or a step, lose it.
func TestTimes(t *testing.T) {
	r := start(t)
	r.send(204, "", ts("even", milli(347, 1), milli(10_347, 2), milli(20_350, 3)))
	r.want("prometheus/-/-/even", kept{0, 1}, kept{10, 2}, kept{20, 3})
	r.send(204, "", ts("late", milli(999, 1), milli(11_003, 2), milli(20_990, 3)))
	r.want("prometheus/-/-/late", kept{0, 1}, kept{10, 2}, kept{20, 3})
	r.send(204, "", ts("odd", milli(347, 1), milli(10_500, 2), milli(20_347, 3)))
	r.want("prometheus/-/-/odd", kept{0, 1}, kept{10.5, 2}, kept{20.347, 3})
	r.send(204, "", ts("fast", milli(300, 1), milli(550, 2), milli(800, 3), milli(1300, 4)))
	r.want("prometheus/-/-/fast", kept{0, 1}, kept{.55, 2}, kept{.8, 3}, kept{1.3, 4})

	r = start(t, "remotewrite-round", "never")
	r.send(204, "", ts("x", milli(347, 1), milli(10_347, 2)))
	r.want("prometheus/-/-/x", kept{.347, 1}, kept{10.347, 2})

	r = start(t, "remotewrite-round", "step", "remotewrite-step", "10")
	r.send(204, "", ts("x", milli(7_347, 1), milli(17_347, 2), milli(27_350, 3)))
	r.want("prometheus/-/-/x", kept{0, 1}, kept{10, 2}, kept{20, 3})
}

// TestPaths: labels that differ have paths that differ, whatever is in them.
func TestPaths(t *testing.T) {
	r := start(t)
	long := strings.Repeat("ä", 2000)
	names := []string{
		"up job=a instance=b", "up job=a instance=c", "up", "up job=- instance=-", "up job=-",
		"up job=a/b", "up job=a_b", `up a=b`, `up a=b,c`, `up a=b c=d`, `up a=b",c="d`, `up{a="b"}`, "up.rrd", "up job=..", "up job=__",
		"up a=x" + long + "1", "up a=x" + long + "2", "up job=" + long + "1", "up job=" + long + "2", "up a=\x01", "up a=_",
	}
	for _, name := range names {
		r.send(204, "", ts(name, sample(0, 1)))
	}
	seen := make(map[string]bool)
	for _, s := range r.Recorder.Series() {
		seen[strings.TrimSuffix(s.Path, ".rrd")] = true
		if !strings.HasPrefix(s.Path, "prometheus/") || strings.Count(s.Path, "/") != 3 || len(s.Path) > 4096 {
			t.Errorf("path %.200q of %d bytes", s.Path, len(s.Path))
		}
	}
	if len(seen) != len(names) {
		t.Errorf("%d paths for %d sets of labels", len(seen), len(names))
	}
}
