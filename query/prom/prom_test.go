package prom_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/prom"
	"github.com/rondo-db/rondo/rra"
)

// t0 is when the samples of tests begin: a multiple of a day.
const t0 = 1_600_041_600

// A world is a store and an engine over it.
type world struct {
	testing.TB
	store  *core.Store
	engine *promql.Engine
	prom   *prom.Storage
}

func newWorld(t testing.TB, rules ...prom.Rule) *world {
	s := enginetest.Open(t)
	return &world{t, s, newEngine(t), prom.New(s, rules)}
}

func newEngine(t testing.TB) *promql.Engine {
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true,
	})
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// definition returns a definition of one data source, value, with archives of rows of the given
// numbers of steps, as AVERAGE, MIN and MAX.
func definition(kind rra.Kind, step int64, pdps ...int64) *rra.Definition {
	d := &rra.Definition{Step: step, Sources: []rra.DataSource{
		{Name: "value", Kind: kind, Heartbeat: 2 * step, Min: math.NaN(), Max: math.NaN()},
	}}
	for _, n := range pdps {
		for _, cf := range []rra.CF{rra.Average, rra.Min, rra.Max} {
			d.Archives = append(d.Archives, rra.Archive{CF: cf, XFF: 0.5, PDPs: n, Rows: 400})
		}
	}
	return d
}

// labelsOf parses "a=b c=d".
func labelsOf(text string) (ls []core.Label) {
	for f := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(f, "=")
		ls = append(ls, core.Label{Name: name, Value: value})
	}
	return ls
}

func (w *world) create(path, labels string, d *rra.Definition) core.Ref {
	w.Helper()
	ref, err := w.store.Create(context.Background(), core.Spec{Path: path, Labels: labelsOf(labels), Definition: d, Start: rra.Seconds(t0)})
	if err != nil {
		w.Fatal(err)
	}
	return ref
}

// feed appends n samples of a series, one each step from t0+step on.
func (w *world) feed(ref core.Ref, step int64, n int, value func(i int) rra.Value) {
	w.Helper()
	series, err := w.store.Series(ref)
	if err != nil {
		w.Fatal(err)
	}
	var b core.Batch
	for i := 1; i <= n; i++ {
		b.Add(ref, rra.Seconds(t0+int64(i)*step), slices.Repeat([]rra.Value{value(i)}, len(series.Definition.Sources))...)
	}
	if err := w.store.Append(context.Background(), &b); err != nil {
		w.Fatal(err)
	}
}

// instant returns the answer to expr at a second after t0.
func (w *world) instant(expr string, at int64) string {
	w.Helper()
	q, err := w.engine.NewInstantQuery(context.Background(), w.prom, nil, expr, time.Unix(t0+at, 0))
	if err != nil {
		w.Fatalf("%s: %v", expr, err)
	}
	defer q.Close()
	r := q.Exec(context.Background())
	if r.Err != nil {
		w.Fatalf("%s: %v", expr, r.Err)
	}
	text := named.ReplaceAllString(r.String(), "$1{")
	return strings.ReplaceAll(text, fmt.Sprintf(" @[%d]", (t0+at)*1000), "")
}

// named matches the name of a metric among its labels.
var named = regexp.MustCompile(`\{__name__="([^"]*)"(, )?`)

// is fails the test unless expr has the answer want at a second after t0.
func (w *world) is(expr string, at int64, want ...string) {
	w.Helper()
	if got := w.instant(expr, at); got != strings.Join(want, "\n") {
		w.Errorf("%s at +%d:\n%s\nwant\n%s", expr, at, got, strings.Join(want, "\n"))
	}
}

func gauge(v float64) func(int) rra.Value { return func(int) rra.Value { return rra.Float(v) } }

func TestNames(t *testing.T) {
	w := newWorld(t)
	g, c := definition(rra.Gauge, 10, 1), definition(rra.Counter, 10, 1)
	two := definition(rra.Derive, 10, 1)
	two.Sources = append(two.Sources, two.Sources[0])
	two.Sources[0].Name, two.Sources[1].Name = "rx", "tx"
	for _, s := range []struct {
		path, labels string
		d            *rra.Definition
	}{
		{"collectd/h1/load/load", "host=h1 plugin=load type=load", g},
		{"collectd/h1/cpu-0/percent-idle", "host=h1 plugin=cpu plugin_instance=0 type=percent type_instance=idle", g},
		{"collectd/h1/memory/memory-free", "host=h1 plugin=memory type=memory type_instance=free", g},
		{"collectd/h1/interface-eth0/if_octets", "host=h1 plugin=interface plugin_instance=eth0 type=if_octets", two},
		{"ganglia/h1/load.one", "host=h1 metric=load.one cluster=c1 group=load units=x type=float", g},
		{"rrdd/x/vm/u1/cpu0", "plugin=x owner=vm uuid=u1 name=cpu0", g},
		{"mono/10.0.0.1#2/Threads/Created", "name=Created category=Threads peer=10.0.0.1#2 type=int unit=count variance=monotonic", c},
		{"smon/10.0.0.1/temp/1", "peer=10.0.0.1 token=temp index=1", g},
		{"files/a", "", g},
		{"prometheus/j/i/http", "__name__=http_requests_total job=j instance=i", c},
	} {
		ref := w.create(s.path, s.labels, s.d)
		w.feed(ref, 10, 12, func(i int) rra.Value { return rra.Int(int64(i) * 100) })
		_ = ref
	}
	for expr, want := range map[string]string{
		`collectd_load`: `collectd_load{instance="h1"} => 1200`,
		`collectd_cpu_percent{cpu="0",type="idle"}`:       `collectd_cpu_percent{cpu="0", instance="h1", type="idle"} => 1200`,
		`collectd_memory{memory="free"}`:                  `collectd_memory{instance="h1", memory="free"} => 1200`,
		`collectd_interface_if_octets_rx`:                 `collectd_interface_if_octets_rx{instance="h1", interface="eth0"} => 10`,
		`rate(collectd_interface_if_octets_tx_total[1m])`: `{instance="h1", interface="eth0"} => 10`,
		`ganglia_load_one`:                                `ganglia_load_one{cluster="c1", group="load", instance="h1", raw_name="load.one", units="x"} => 1200`,
		`xen_cpu0{scope="vm"}`:                            `xen_cpu0{plugin="x", scope="vm", uuid="u1"} => 1200`,
		`mono_Threads_Created{process="2"}`:               `mono_Threads_Created{instance="10.0.0.1", process="2"} => 10`,
		`irate(mono_Threads_Created_total[1m])`:           `{instance="10.0.0.1", process="2"} => 10`,
		`smon_temp`:                                       `smon_temp{index="1", instance="10.0.0.1"} => 1200`,
		`rrd{path="files/a"}`:                             `rrd{ds="value", path="files/a"} => 1200`,
		`rate(http_requests_total[1m])`:                   `{instance="i", job="j"} => 10`,
		`{__name__="http_requests_total:rate"}`:           `http_requests_total:rate{instance="i", job="j"} => 10`,
		`count({instance=~"h.*"})`:                        `{} => 8`,
		`count({__name__=~"collectd_.*",instance!="h2"})`: `{} => 7`,
		`sum by (instance) ({__name__=~".*load.*"})`:      `{instance="h1"} => 2400`,
		`count({__name__!~"collectd.*|ganglia.*|.*_total",instance!="h1",__name__!=""})`: `{} => 4`,
	} {
		w.is(expr, 120, want)
	}
}

func TestRateOfAVirtualCounterIsTheStoredRate(t *testing.T) {
	w := newWorld(t)
	ref := w.create("j/i/x", "__name__=x_total job=j", definition(rra.Derive, 10, 1, 6))
	w.feed(ref, 10, 400, func(i int) rra.Value { return rra.Int(int64(i) * 70) })
	for _, expr := range []string{
		`rate(x_total[1m])`, `rate(x_total[5m])`, `rate(x_total[25s])`, `irate(x_total[1m])`, `rate(x_total[1h])`,
		`increase(x_total[10m])/600`, `deriv(x_total[5m])`, `rate(x_total[1m] offset 10m)`,
		`sum by (job) (rate(x_total[2m]))`, `{__name__="x_total:rate"}`, `max_over_time(rate(x_total[1m])[10m:1m])`,
	} {
		got := w.instant(expr, 4000)
		_, number, _ := strings.Cut(got, "=> ")
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || math.Abs(v-7) > 1e-9 {
			t.Errorf("%s: %s, want 7", expr, got)
		}
	}
	w.is(`resets(x_total[1h])`, 4000, `{job="j"} => 0`)
}

func TestRatesFromRowsWiderThanTheRange(t *testing.T) {
	w := newWorld(t)
	d := definition(rra.Counter, 10, 360)
	ref := w.create("j/i/x", "__name__=x_total", d)
	w.feed(ref, 10, 3600, func(i int) rra.Value { return rra.Int(int64(i) * 30) })
	for _, at := range []int64{7200, 7300, 9000, 10790, 35000, 36000} {
		got := w.instant(`rate(x_total[5m])`, at)
		v, err := strconv.ParseFloat(strings.TrimPrefix(got, "{} => "), 64)
		if err != nil || math.Abs(v-3) > 1e-9 {
			t.Errorf("at +%d: %s, want 3", at, got)
		}
	}
}

func TestASilentSeriesEndsAfterItsHeartbeat(t *testing.T) {
	w := newWorld(t)
	ref := w.create("a", "__name__=x", definition(rra.Gauge, 10, 1))
	w.feed(ref, 10, 10, gauge(5))
	for at, want := range map[int64]string{5: "", 10: "x => 5", 14: "x => 5", 100: "x => 5", 119: "x => 5", 120: "", 200: "", 1000: ""} {
		w.is(`x`, at, strings.ReplaceAll(want, "x =>", "x{} =>"))
	}
	w.is(`count_over_time(x[10m])`, 200, "{} => 10")
}

func TestAnUnknownRowEndsTheLookBack(t *testing.T) {
	w := newWorld(t)
	ref := w.create("a", "__name__=x", definition(rra.Gauge, 10, 1))
	w.feed(ref, 10, 30, func(i int) rra.Value {
		if i > 10 && i < 20 {
			return rra.Unknown
		}
		return rra.Float(float64(i))
	})
	w.is(`x`, 109, "x{} => 10")
	w.is(`x`, 110, "")
	w.is(`x`, 199, "")
	w.is(`x`, 200, "x{} => 20")
	w.is(`count_over_time(x[5m])`, 300, "{} => 21")
}

func TestRowsWiderThanTheLookBack(t *testing.T) {
	w := newWorld(t)
	ref := w.create("a", "__name__=x", definition(rra.Gauge, 10, 360))
	w.feed(ref, 10, 3600, func(i int) rra.Value { return rra.Float(float64((i - 1) / 360)) })
	for at, want := range map[int64]string{3590: "", 3600: "x{} => 0", 5400: "x{} => 0", 7199: "x{} => 0", 7200: "x{} => 1", 36000: "x{} => 9", 36019: "x{} => 9", 36020: ""} {
		w.is(`x`, at, want)
	}
	w.is(`avg_over_time(x[5m])`, 9000, "{} => 1")
	w.is(`avg_over_time(x[4h])`, 28800, "{} => 5.5")
}

func TestArchivesByFunctionAndLabel(t *testing.T) {
	w := newWorld(t)
	ref := w.create("a", "__name__=x", definition(rra.Gauge, 10, 6))
	w.feed(ref, 10, 60, func(i int) rra.Value { return rra.Float(float64((i - 1) % 6)) })
	w.is(`avg_over_time(x[5m])`, 600, "{} => 2.5")
	w.is(`max_over_time(x[5m])`, 600, "{} => 5")
	w.is(`min_over_time(x[5m])`, 600, "{} => 0")
	w.is(`x{__cf__="MAX"}`, 600, "x{} => 5")
	w.is(`max_over_time(x{__cf__="MIN"}[5m])`, 600, "{} => 0")
	w.is(`x{__cf__="LAST"}`, 600, "")
}

func TestRules(t *testing.T) {
	rule, err := prom.NewRule(`hosts/([^/]+)/(?P<what>.*)`, "host_${what}", map[string]string{"host": "$1"})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, rule)
	w.feed(w.create("hosts/web1/disk-free.rrd", "", definition(rra.Gauge, 10, 1)), 10, 5, gauge(3))
	w.feed(w.create("elsewhere/x", "room=7", definition(rra.Gauge, 10, 1)), 10, 5, gauge(4))
	w.is(`host_disk_free`, 50, `host_disk_free{host="web1"} => 3`)
	w.is(`rrd{room="7"}`, 50, `rrd{ds="value", path="elsewhere/x", room="7"} => 4`)
}
