package hosts_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/hosts"
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

const epoch = 1_700_000_000

// A sent is a series with what its data sources have been for a minute up to a time.
type sent struct {
	path   string
	kind   string // of the data sources
	until  int64  // seconds behind epoch
	values map[string]float64
	labels []core.Label
}

func gauge(path string, until int64, v float64) sent {
	return sent{path, "GAUGE", until, map[string]float64{"value": v}, nil}
}

func rate(path string, until int64, v float64) sent {
	return sent{path, "DERIVE", until, map[string]float64{"value": v}, nil}
}

// board makes series with a sample every ten seconds, whose rates are the values.
func board(t *testing.T, all ...sent) (*core.Store, *hosts.Board) {
	t.Helper()
	s := enginetest.Open(t)
	for _, x := range all {
		var names []string
		for n := range x.values {
			names = append(names, n)
		}
		slices.Sort(names)
		args := []string{}
		for _, n := range names {
			args = append(args, "DS:"+n+":"+x.kind+":30:U:U")
		}
		d, err := rra.ParseDefinition(10, append(args, "RRA:AVERAGE:0.5:6:10", "RRA:AVERAGE:0.5:1:10"))
		if err != nil {
			t.Fatal(err)
		}
		ref, err := s.Create(t.Context(), core.Spec{Path: x.path, Labels: x.labels, Definition: d, Start: rra.Seconds(epoch + x.until - 70)})
		if err != nil {
			t.Fatalf("%s: %v", x.path, err)
		}
		var b core.Batch
		for i := range int64(7) {
			var vs []rra.Value
			for _, n := range names {
				if x.kind == "GAUGE" {
					vs = append(vs, rra.Float(x.values[n]))
				} else {
					vs = append(vs, rra.Int(int64(x.values[n]*10)*i))
				}
			}
			b.Add(ref, rra.Seconds(epoch+x.until-60+10*i), vs...)
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	x := search.New(s)
	t.Cleanup(x.Close)
	return s, &hosts.Board{Store: s, Index: x}
}

// shown returns a page of hosts as lines: state, name and figures, "-" where nothing is sent.
func shown(t *testing.T, b *hosts.Board, r hosts.Request) (lines []string) {
	t.Helper()
	if r.Limit == 0 {
		r.Limit = 100
	}
	if r.Now.IsZero() {
		r.Now = time.Unix(epoch+1, 0)
	}
	p, err := b.Page(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Rows {
		words := []string{x.Name}
		if x.Silent {
			words = append(words, "silent")
		}
		words = append(words, x.Alerts...)
		for _, v := range x.Figures {
			if math.IsNaN(v) {
				words = append(words, "-")
			} else {
				words = append(words, fmt.Sprint(math.Round(v*100)/100))
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// all is hosts of four senders, and of one that no figure is known of. Two were heard of last five
// hours ago.
var all = []sent{
	rate("collectd/c1/cpu-0/cpu-idle", 0, 60), rate("collectd/c1/cpu-1/cpu-idle", 0, 80), rate("collectd/c1/cpu-1/cpu-user", 0, 20),
	{"collectd/c1/load/load", "GAUGE", 0, map[string]float64{"longterm": 9, "midterm": 9, "shortterm": 3}, nil},
	gauge("collectd/c1/memory/memory-used", 0, 30), gauge("collectd/c1/memory/memory-free", 0, 60), gauge("collectd/c1/memory/memory-cached", 0, 10),
	gauge("collectd/c1/df-root/df_complex-used", 0, 1), gauge("collectd/c1/df-root/df_complex-free", 0, 3), gauge("collectd/c1/df-root/df_complex-reserved", 0, 9),
	gauge("collectd/c1/df-home/df_complex-used", 0, 9), gauge("collectd/c1/df-home/df_complex-free", 0, 1),
	{"collectd/c1/interface-eth0/if_octets", "DERIVE", 0, map[string]float64{"rx": 100, "tx": 10}, nil},
	{"collectd/c1/interface-eth1/if_octets", "DERIVE", 0, map[string]float64{"rx": 1, "tx": 2}, nil},
	{"collectd/c1/interface-lo/if_octets", "DERIVE", 0, map[string]float64{"rx": 5000, "tx": 5000}, nil},
	gauge("ganglia/g1/cpu_idle", 0, 25), gauge("ganglia/g1/cpu_num", 0, 4), gauge("ganglia/g1/load_one", 0, 2),
	gauge("ganglia/g1/mem_total", 0, 1000), gauge("ganglia/g1/mem_free", 0, 100), gauge("ganglia/g1/mem_cached", 0, 200),
	gauge("ganglia/g1/disk_total", 0, 50), gauge("ganglia/g1/disk_free", 0, 10), gauge("ganglia/g1/bytes_in", 0, 7), gauge("ganglia/g1/bytes_out", 0, 8),
	{`prometheus/node/p1:9100/node_cpu_seconds_total{cpu="0",mode="idle"}`, "DERIVE", 0, map[string]float64{"value": 0.9}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_cpu_seconds_total{cpu="1",mode="idle"}`, "DERIVE", 0, map[string]float64{"value": 0.7}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_cpu_seconds_total{cpu="1",mode="user"}`, "DERIVE", 0, map[string]float64{"value": 0.3}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_load1`, "GAUGE", 0, map[string]float64{"value": 1}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_memory_MemTotal_bytes`, "GAUGE", 0, map[string]float64{"value": 200}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_memory_MemAvailable_bytes`, "GAUGE", 0, map[string]float64{"value": 50}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_filesystem_size_bytes{device="a",fstype="ext4",mountpoint="/"}`, "GAUGE", 0, map[string]float64{"value": 100}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_filesystem_avail_bytes{device="a",fstype="ext4",mountpoint="/"}`, "GAUGE", 0, map[string]float64{"value": 45}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_filesystem_size_bytes{device="t",fstype="tmpfs",mountpoint="/tmp"}`, "GAUGE", 0, map[string]float64{"value": 100}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_filesystem_avail_bytes{device="t",fstype="tmpfs",mountpoint="/tmp"}`, "GAUGE", 0, map[string]float64{"value": 0}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_network_receive_bytes_total{device="eth0"}`, "DERIVE", 0, map[string]float64{"value": 20}, instance("p1:9100")},
	{`prometheus/node/p1:9100/node_network_receive_bytes_total{device="lo"}`, "DERIVE", 0, map[string]float64{"value": 900}, instance("p1:9100")},
	{`otlp/app/o1/system_cpu_time_seconds_total{cpu="cpu0",state="idle"}`, "DERIVE", 0, map[string]float64{"value": 0.5}, instance("o1")},
	{`otlp/app/o1/system_cpu_load_average_1m`, "GAUGE", 0, map[string]float64{"value": 4}, instance("o1")},
	{`otlp/app/o1/system_memory_usage_bytes{state="used"}`, "GAUGE", 0, map[string]float64{"value": 40}, instance("o1")},
	{`otlp/app/o1/system_memory_usage_bytes{state="free"}`, "GAUGE", 0, map[string]float64{"value": 60}, instance("o1")},
	{`otlp/app/o1/system_filesystem_usage_bytes{mountpoint="/",state="used",type="ext4"}`, "GAUGE", 0, map[string]float64{"value": 70}, instance("o1")},
	{`otlp/app/o1/system_filesystem_usage_bytes{mountpoint="/",state="free",type="ext4"}`, "GAUGE", 0, map[string]float64{"value": 30}, instance("o1")},
	{`otlp/app/o1/system_network_io_bytes_total{device="eth0",direction="transmit"}`, "DERIVE", 0, map[string]float64{"value": 3}, instance("o1")},
	gauge("collectd/s1/cpu-0/percent-idle", -5*3600, 50), gauge("collectd/s2/cpu-0/percent-idle", -5*3600, 50),
	gauge("garden/temperature", 0, 21.5),
}

func instance(of string) []core.Label { return []core.Label{{Name: "instance", Value: of}} }

func TestFiguresOfFourSenders(t *testing.T) {
	_, b := board(t, all...)
	want := []string{
		"s2 silent HostDown - - - - - - -",
		"s1 silent - - - - - - -",
		"c1 30 1.5 30 90 808 96 -",
		"g1 75 0.5 70 80 56 64 -",
		"garden - - - - - - 21.5",
		"o1 50 4 40 70 - 24 -",
		"p1 20 0.5 75 55 160 - -",
	}
	firing := map[string][]string{"s2": {"HostDown"}}
	if diff := cmp.Diff(want, shown(t, b, hosts.Request{Firing: firing, Pin: "temperature"})); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	for sort, want := range map[string]string{
		"cpu": "s1 s2 g1 o1 c1 p1 garden", "-cpu": "s1 s2 p1 c1 o1 g1 garden", "disk": "s1 s2 c1 g1 o1 p1 garden", "-name": "s1 s2 c1 g1 garden o1 p1",
		"name": "s2 s1 p1 o1 garden g1 c1", "pin": "s1 s2 garden c1 g1 o1 p1",
	} {
		var names []string
		for _, l := range shown(t, b, hosts.Request{Sort: sort, Pin: "temperature"}) {
			name, _, _ := strings.Cut(l, " ")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("by %s: %s, want %s", sort, got, want)
		}
	}
	if got := shown(t, b, hosts.Request{Offset: 3, Limit: 2}); len(got) != 2 || !strings.HasPrefix(got[0], "g1 ") {
		t.Errorf("from the third on: %q", got)
	}
	for filter, want := range map[string]int{"c1": 1, "COLLECTD": 3, "collectd s": 2, "instance=o1": 1, "instance=o1 c1": 0, "nosuch=": 7, "garden": 1} {
		if got := shown(t, b, hosts.Request{Filter: filter}); len(got) != want {
			t.Errorf("filter %q: %q", filter, got)
		}
	}
	if _, err := b.Page(t.Context(), hosts.Request{Sort: "colour"}); !errors.Is(err, hosts.ErrSort) {
		t.Errorf("by colour: %v", err)
	}
}

// A host is silent when none of its series was updated for four of its steps, a minute at least.
func TestSilenceIsFourSteps(t *testing.T) {
	s, b := board(t, gauge("collectd/a/p/x", 0, 1))
	for after, want := range map[int64]string{60: "a - - - - - - -", 61: "a silent - - - - - - -"} {
		if got := shown(t, b, hosts.Request{Now: time.Unix(epoch+after, 0)}); !slices.Equal(got, []string{want}) {
			t.Errorf("%d s later: %q", after, got)
		}
	}
	ref, err := s.Lookup("collectd/a/p/x")
	if err != nil {
		t.Fatal(err)
	}
	var batch core.Batch
	batch.Add(ref, rra.Seconds(epoch+100), rra.Float(1))
	if err := s.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
	if got := shown(t, b, hosts.Request{Now: time.Unix(epoch+101, 0)}); !slices.Equal(got, []string{"a - - - - - - -"}) {
		t.Errorf("heard of again: %q", got)
	}
}

// TestMoreHostsThanAreRated: alerts come first in any number of hosts, and the page says that the
// others are in order of names.
func TestMoreHostsThanAreRated(t *testing.T) {
	s, b := board(t)
	d, err := rra.ParseDefinition(10, []string{"DS:value:GAUGE:30:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	var specs []core.Spec
	for i := range 20_001 {
		specs = append(specs, core.Spec{Path: fmt.Sprintf("collectd/h%05d/p/x", i), Definition: d, Start: rra.Seconds(epoch)})
	}
	if _, err := s.CreateBatch(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	for filter, want := range map[string]string{"": "h12345 h00000 h00001 true", "h1": "h12345 h10000 h10001 false"} {
		p, err := b.Page(t.Context(), hosts.Request{Filter: filter, Limit: 3, Now: time.Unix(epoch, 0), Firing: map[string][]string{"h12345": {"Down"}}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range p.Rows {
			got = append(got, r.Name)
		}
		if got := fmt.Sprint(strings.Join(got, " "), " ", p.Named); got != want {
			t.Errorf("filter %q: %s, want %s", filter, got, want)
		}
	}
}

// TestHostsAreChargedBeforeTheyAreLookedAt: a budget that is taken refuses a page.
func TestHostsAreChargedBeforeTheyAreLookedAt(t *testing.T) {
	s, b := board(t, all...)
	var taken []*core.MemoryShare
	for range 8 { // a share may have a quarter
		x := s.MemoryShare()
		for size := int64(1) << 32; size > 0; size /= 2 {
			for x.Resize(x.Bytes()+size) == nil {
				continue
			}
		}
		taken = append(taken, x)
	}
	if p, err := b.Page(t.Context(), hosts.Request{Limit: 10, Now: time.Unix(epoch, 0)}); !errors.Is(err, core.ErrMemory) {
		t.Errorf("%+v, %v", p, err)
	}
	for _, x := range taken {
		if err := x.Resize(0); err != nil {
			t.Fatal(err)
		}
	}
	if got := shown(t, b, hosts.Request{}); len(got) == 0 {
		t.Error("nothing is shown when memory is there again")
	}
}

func TestDomainThatAllShare(t *testing.T) {
	_, b := board(t, gauge("collectd/a.dc1.example.org/p/x", 0, 1), gauge("collectd/b.dc1.example.org/p/x", 0, 1), gauge("collectd/plain/p/x", 0, 1), gauge("collectd/10.0.0.1/p/x", 0, 1))
	domain := func() string {
		t.Helper()
		p, err := b.Page(t.Context(), hosts.Request{Now: time.Unix(epoch, 0)})
		if err != nil {
			t.Fatal(err)
		}
		return p.Domain
	}
	if got := domain(); got != ".dc1.example.org" {
		t.Errorf("the domain is %q", got)
	}
}
