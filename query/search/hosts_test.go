package search_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/search"
	"github.com/rondo-db/rondo/rra"
)

// labelled makes series of paths with labels: a path, and A=B words behind it.
func labelled(t *testing.T, s *core.Store, lines ...string) {
	t.Helper()
	var specs []core.Spec
	for _, line := range lines {
		words := strings.Fields(line)
		x := core.Spec{Path: words[0], Definition: definition(t), Start: rra.Seconds(epoch)}
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			x.Labels = append(x.Labels, core.Label{Name: name, Value: value})
		}
		slices.SortFunc(x.Labels, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
		specs = append(specs, x)
	}
	out, err := s.CreateBatch(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
}

// hostsIn returns the hosts of an index, as NAME SERIES SENDERS.
func hostsIn(t *testing.T, x *search.Index, within []string) (out []string) {
	t.Helper()
	all, err := x.Hosts(t.Context(), within)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range all {
		out = append(out, fmt.Sprintf("%s %d %s", h.Name, h.Series, strings.Join(h.Senders, ",")))
	}
	return out
}

// One machine was as many hosts as protocols spoke of it, and all of Prometheus was one.
func TestHostsComeFromLabels(t *testing.T) {
	s := enginetest.Open(t)
	x := search.New(s)
	t.Cleanup(x.Close)
	labelled(t, s,
		"collectd/web1/load/load host=web1",
		"ganglia/web1/load_one host=web1",
		"prometheus/node/web1:9100/node_load1 __name__=node_load1 job=node instance=web1:9100",
		"prometheus/node/web1:9100/node_load5 __name__=node_load5 job=node instance=web1:9100",
		`prometheus/node/10.0.0.7:9100/x __name__=x job=node instance=10.0.0.7:9100`,
		`prometheus/node/v6/x __name__=x job=node instance=[fe80::1]:9100`,
		`prometheus/probe/site/up __name__=up job=probe instance=https://shop.example.org/cart`,
		`prometheus/gw/proxy/up{host="web1"} __name__=up job=gw instance=proxy:80 host=web1`,
		"prometheus/batch/-/runs __name__=runs job=batch",
		`otlp/app/4f2a/system_cpu_time_seconds_total __name__=system_cpu_time_seconds_total job=app instance=4f2a`,
		`otlp/app/4f2a/target_info{host_name="web1"} __name__=target_info job=app instance=4f2a host_name=web1`,
		"otlp/api/7c/requests __name__=requests job=api instance=7c",
		"otlp/api/-/requests __name__=requests job=api",
		"otlp/-/web1/system_memory_usage_bytes __name__=system_memory_usage_bytes instance=web1",
		"influx/mem/host=web1/free __name__=mem_free host=web1",
		"influx/disk/hostname=web1,p=a/free __name__=disk_free hostname=web1 p=a",
		"influx/room/place=attic/humidity __name__=room_humidity place=attic",
		"graphite/disk/used;host=web1 __name__=disk_used host=web1",
		"graphite/servers/web1/load __name__=servers_web1_load",
		"graphite/flat __name__=flat",
		"statsd/counters/shop/orders __name__=shop_orders",
		"statsd/gauges/shop/queue __name__=shop_queue",
		"web1/disk.rrd", "other/a/b", "lonely.rrd",
	)
	want := []string{
		"10.0.0.7 1 prometheus", "7c 1 otlp", "api 1 otlp", "batch 1 prometheus", "fe80::1 1 prometheus", "graphite 1 graphite",
		"lonely 1 lonely.rrd", "other 1 other", "room 1 influx", "servers 1 graphite", "shop 2 statsd", "shop.example.org 1 prometheus",
		"web1 12 collectd,ganglia,graphite,influx,otlp,prometheus,web1",
	}
	if diff := cmp.Diff(want, hostsIn(t, x, nil)); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"servers 1 graphite", "web1 3 graphite,prometheus"}, hostsIn(t, x, []string{"graphite/disk", "graphite/servers", "prometheus/node/web1:9100"})); diff != "" {
		t.Errorf("hosts of some folders (-want +got):\n%s", diff)
	}
	var paths []string
	if err := x.Members(t.Context(), "shop", nil, func(m search.Member) bool { paths = append(paths, m.Path); return true }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"statsd/counters/shop/orders", "statsd/gauges/shop/queue"}, paths); diff != "" {
		t.Errorf("series of shop (-want +got):\n%s", diff)
	}
	if err := x.Members(t.Context(), "nobody", nil, func(search.Member) bool { return true }); !errors.Is(err, search.ErrHost) {
		t.Errorf("series of no host: %v", err)
	}
	// A series goes to another host with its labels, and away when it is dropped.
	if _, err := s.Relabel(t.Context(), []core.PathLabels{{Path: "graphite/disk/used;host=web1", Labels: []core.Label{{Name: "host", Value: "web2"}}}}); err != nil {
		t.Fatal(err)
	}
	if err := core.Drop(t.Context(), s, "other/a/b"); err != nil {
		t.Fatal(err)
	}
	got := hostsIn(t, x, nil)
	if slices.Contains(got, want[7]) || !slices.Contains(got, "web2 1 graphite") || !slices.Contains(got, "web1 11 collectd,ganglia,influx,otlp,prometheus,web1") {
		t.Errorf("after a relabel and a drop: %q", got)
	}
}

// TestHostsOfAFolderBelowAHost: a user who is limited to a folder within a host's sees that host, and
// as many of its series as are in the folder, although some of these have a host of their own.
func TestHostsOfAFolderBelowAHost(t *testing.T) {
	s := enginetest.Open(t)
	x := search.New(s)
	t.Cleanup(x.Close)
	labelled(t, s, "graphite/web1/cpu/idle", "graphite/web1/cpu/load host=web2", "graphite/web1/memory/free")
	for _, c := range []struct {
		within []string
		want   []string
	}{
		{nil, []string{"web1 2 graphite", "web2 1 graphite"}},
		{[]string{"graphite/web1"}, []string{"web1 2 graphite", "web2 1 graphite"}},
		{[]string{"graphite/web1/cpu"}, []string{"web1 1 graphite", "web2 1 graphite"}},
	} {
		if got := hostsIn(t, x, c.within); !slices.Equal(got, c.want) {
			t.Errorf("within %q: %q, want %q", c.within, got, c.want)
		}
	}
}
