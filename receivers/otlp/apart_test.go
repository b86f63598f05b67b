package otlp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers/receivertest"
	"github.com/rondo-db/rondo/receivers/sink"
)

// TestNamesThatDiffer: names of metrics without a letter of ASCII became one series, and attributes
// of such names were left out, so that values mixed.
func TestNamesThatDiffer(t *testing.T) {
	rec := new(receivertest.Recorder)
	r := receivertest.Start(t, suite(t), rec, nil)
	n := 0
	for _, name := range []string{"温度", "湿度", "a.温度", "a.湿度", "a", "Größe", "Gräße", "___", "--", "R\u00e4u"} {
		for _, unit := range []string{"s", ""} {
			taken(t, r, gaugeOf(name, unit, 10, 1))
			n++
		}
	}
	for _, as := range [][]string{{"键", "1"}, {"键", "2"}, {"值", "1"}, {"größe", "1"}, {"gräße", "1"}, {"gr_e", "1"}, {"键", "1", "值", "1"}, {"--", "1"}, {`a="1",键`, "1"}} {
		taken(t, r, gaugeOf("with.attributes", "", 10, 1, as...))
		n++
	}
	seen := make(map[string]bool)
	for _, s := range rec.Series() {
		var labels strings.Builder
		for _, l := range s.Labels {
			labels.WriteString(l.Name + "=" + l.Value + ";")
		}
		t.Log(s.Path, labels.String())
		if seen[s.Path] {
			t.Errorf("%s is there twice", s.Path)
		}
		seen[s.Path] = true
	}
	if len(seen) != n {
		t.Errorf("%d names have become %d series", n, len(seen))
	}
}

// TestMachinesThatDiffer: two machines of one service that sent no service.instance.id shared a
// series: half of their values came late, and totals of two counters made one.
func TestMachinesThatDiffer(t *testing.T) {
	r, store := stored(t, sink.Options{}, nil)
	for n := 10; n <= 30; n += 10 {
		var m metrics.MetricsData
		for i, of := range [][]string{
			{"host.name", "web1", "host.id", "4f", "service.name", "app"},
			{"service.name", "app", "host.name", "web2"},
			{"service.name", "app", "host.id", "7c"},
			{"service.name", "app"},
			{"host.id", "4f", "service.instance.id", "i1", "host.name", "web1", "service.name", "app"},
			{"host.name", "web1"},
			{"host.id", "7c"},
			{"os.type", "linux"},
			{"service.name", "app", "host.id", "9d", "host.name", ""},
		} {
			m.ResourceMetrics = append(m.ResourceMetrics, request(attrs(of...),
				gaugeOf("load", "", n, float64(i)), sumOf("n", cumulative, true, 0, n, n*(i+1))).ResourceMetrics...)
		}
		if a := r.Ask(marshal(t, &m)); a.Status != http.StatusOK || a.Text != "" {
			t.Errorf("%d %q", a.Status, a.Text)
		}
	}
	got := make(map[string]string)
	for s, err := range store.Select(t.Context(), core.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got[s.Path] = core.LabelValue(s.Labels, "instance")
	}
	want := make(map[string]string)
	for i, of := range []struct{ path, instance, info string }{
		{"otlp/app/web1/", "web1", `{host_id="4f",host_name="web1"}`},
		{"otlp/app/web2/", "web2", `{host_name="web2"}`},
		{"otlp/app/7c/", "7c", `{host_id="7c"}`},
		{"otlp/app/-/", "", ""},
		{"otlp/app/i1/", "i1", `{host_id="4f",host_name="web1"}`},
		{"otlp/-/web1/", "web1", `{host_name="web1"}`},
		{"otlp/-/7c/", "7c", `{host_id="7c"}`},
		{"otlp/-/-/", "", ""},
		{"otlp/app/9d/", "9d", `{host_id="9d"}`},
	} {
		want[of.path+"load"], want[of.path+"n_total"] = of.instance, of.instance
		if of.info != "" {
			want[of.path+"target_info"+of.info] = of.instance
		}
		if got, want := total(t, store, of.path+"n_total", 0, 30), float64(30*(i+1)); !near(got, want) {
			t.Errorf("%sn_total counts %v, want %v", of.path, got, want)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}
