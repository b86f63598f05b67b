//go:build !race

package browsertest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
)

// TestFleet: two thousand hosts are one table, which makes and asks for the rows in sight.
func TestFleet(t *testing.T) {
	s := once("fleet", fleet)(t)
	x := newTab(t, s.url)
	x.resize(laptop)
	x.open("/")
	const asks = `performance.getEntriesByType('resource').filter(e => e.name.endsWith('/Hosts')).length`
	const row = `((n) => document.querySelectorAll('.hosts tbody tr:not([aria-hidden])')[n].innerText.replaceAll('\u202f', ' ').replace(/\n\t/g, '\t').trim())`
	x.wait("the table is there", `document.querySelectorAll('.hosts tbody tr:not([aria-hidden])').length > 20`)
	if n := eval[int](x, asks); n != 0 {
		t.Errorf("the first rows were asked for %d times: the page has them", n)
	}
	first := eval[[]string](x, `[0, 1, 2].map(`+row+`)`)
	for i, want := range []string{"silent\tnode1998\tsilent for 5 h", "silent\tnode1999\tsilent for 5 h", "ok\tnode0000"} {
		if !strings.HasPrefix(first[i], want) {
			t.Errorf("row %d is %q, not %q", i, first[i], want)
		}
	}
	x.keep("fleet-home")
	// In the middle, one request for what is in sight.
	eval[bool](x, `(scrollTo(0, 1000 * 33), true)`)
	x.wait("rows of the middle are there", `[...document.querySelectorAll('.hosts tbody tr')].some(r => r.innerText.includes('node1020\t'))`)
	if n := eval[int](x, asks); n != 1 {
		t.Errorf("the rows of the middle took %d requests", n)
	}
	if n := eval[int](x, `document.querySelectorAll('.hosts tbody tr').length`); n > 80 {
		t.Errorf("%d rows are made", n)
	}
	// The busiest first, by a click, with the amounts of all senders.
	eval[bool](x, `(scrollTo(0, 0), true)`)
	x.click(".hosts .col-cpu a")
	x.wait("the busiest is first", row+`(2).includes('node1997')`)
	if at := x.address(); !strings.HasSuffix(at, "/?sort=cpu") {
		t.Errorf("the address is %s", at)
	}
	for i, want := range []string{"99.8 %\t1.00\t99.8 %\t75.0 %\t799 kbit/s\t40.0 kbit/s", "99.8 %\t1.00\t99.8 %\t75.0 %\t798 kbit/s\t40.0 kbit/s"} {
		if got := eval[string](x, row+fmt.Sprintf("(%d)", 2+i)); !strings.Contains(got, want) {
			t.Errorf("row %d is %q, without %q", 2+i, got, want)
		}
	}
	x.resize(phone)
	x.settle()
	x.keep("fleet-home-phone")
	if wide := eval[int64](x, "document.documentElement.scrollWidth"); wide > phone.width {
		t.Errorf("the page is %d pixels wide in a window of %d", wide, phone.width)
	}
	x.open("/?f=node00+ganglia&pin=load_one&sort=-pin")
	x.wait("the filter leaves a quarter of a hundred", `document.querySelector('.facts').innerText.startsWith('25 hosts')`)
	if got := eval[string](x, row+"(24)"); !strings.HasPrefix(got, "ok\tnode0097") || !strings.Contains(got, "\t0.19") {
		t.Errorf("the last row is %q", got)
	}
	for _, at := range []size{phone, laptop, {"wall", 3840, 2160, false}} {
		x.resize(at)
		for _, scheme := range []string{"light", "dark"} {
			x.scheme(scheme)
			x.settle()
			x.keep("fleet-filtered-" + at.name + "-" + scheme)
		}
		if wide := eval[int64](x, "document.documentElement.scrollWidth"); wide > at.width {
			t.Errorf("the page is %d pixels wide in a window of %d", wide, at.width)
		}
	}
	// One machine, one page, whatever the series are called.
	x.open("/host/node0002.dc1.example.org")
	x.wait("metrics have words", `['CPU', 'Memory MemTotal', 'Network receive, eth0'].every(w => [...document.querySelectorAll('.chart h3')].some(h => h.innerText === w))`)
	x.resize(laptop)
	for host, want := range map[string]string{"node1999": `silent for 5 h [2-5]\d min`, "node0002": "updated"} {
		x.open("/host/" + host + ".dc1.example.org")
		x.settle()
		x.wait(host+" says when it was heard", `!!document.querySelector('.host-head')?.innerText.replaceAll('\u202f', ' ').match(/`+want+`/)`)
		for _, scheme := range []string{"light", "dark"} {
			x.scheme(scheme)
			x.settle()
			x.keep("fleet-" + host + "-" + scheme)
		}
	}
	x.scripts(false)
	x.open("/?sort=-cpu&f=collectd")
	read := eval[string](x, "document.body.innerText")
	if i, j := strings.Index(read, "node0000"), strings.Index(read, "node0004"); i < 0 || j < i || !strings.Contains(read, "75") {
		t.Errorf("without scripts one reads %q", read)
	}
}

const fleetHosts = 2000

// fleet fills a database as 2,000 machines would, a quarter by each of four senders. Host i is busy
// for 100·i/2000 percent, and the last two of them are silent.
func fleet(f *filling) {
	end := f.end
	for i := range fleetHosts {
		busy := 100 * float64(i) / fleetHosts
		if f.end = end; i >= fleetHosts-2 {
			f.end -= 5*3600 + 1200
		}
		name := fmt.Sprintf("node%04d.dc1.example.org", i)
		for path, ls := range machine(i%4, name, busy) {
			f.series(path, 600, 6*3600, ls.labels, ls.sources...)
		}
	}
	f.end = end
}

// A sentSeries is what a sender of a machine sends under a path.
type sentSeries struct {
	labels  []core.Label
	sources []source
}

// machine returns the series of a machine by their paths, as one of four senders sends them.
func machine(sender int, name string, busy float64) map[string]sentSeries {
	all := make(map[string]sentSeries)
	gauge := func(v float64) source { return source{"value:GAUGE:1200:U:U", flat(v)} }
	rate := func(v float64) source { return source{"value:DERIVE:1200:0:U", flat(v)} }
	add := func(path string, s source, more ...source) {
		ls := labels("host", name)
		if sender > 1 {
			metric, rest, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], "{")
			pairs := []string{"instance", name, "__name__", metric}
			for part := range strings.SplitSeq(strings.TrimSuffix(rest, "}"), ",") {
				label, value, _ := strings.Cut(part, "=")
				pairs = append(pairs, label, strings.Trim(value, `"`))
			}
			ls = labels(pairs...)
		}
		all[path] = sentSeries{ls, append([]source{s}, more...)}
	}
	const gib = 1 << 30
	used := busy / 100 * 16 * gib
	switch sender {
	case 0:
		at := "collectd/" + name + "/"
		for cpu := range 4 {
			add(fmt.Sprint(at, "cpu-", cpu, "/cpu-idle"), rate(100-busy))
			add(fmt.Sprint(at, "cpu-", cpu, "/cpu-user"), rate(busy))
		}
		add(at+"load/load", source{"shortterm:GAUGE:1200:0:U", flat(busy / 25)}, source{"midterm:GAUGE:1200:0:U", flat(1)})
		add(at+"memory/memory-used", gauge(used))
		add(at+"memory/memory-free", gauge(16*gib-used))
		add(at+"df-root/df_complex-used", gauge(3*gib))
		add(at+"df-root/df_complex-free", gauge(gib))
		add(at+"interface-eth0/if_octets", source{"rx:DERIVE:1200:0:U", flat(1000 * busy)}, source{"tx:DERIVE:1200:0:U", flat(5000)})
	case 1:
		at := "ganglia/" + name + "/"
		for metric, v := range map[string]float64{
			"cpu_idle": 100 - busy, "cpu_num": 4, "load_one": busy / 25, "mem_total": 16 << 20, "mem_free": (16*gib - used) / 1024,
			"part_max_used": 75, "bytes_in": 1000 * busy, "bytes_out": 5000,
		} {
			add(at+metric, gauge(v))
		}
	case 2:
		at := "prometheus/node/" + name + "/node_"
		for cpu := range 4 {
			add(fmt.Sprintf(`%scpu_seconds_total{cpu="%d",mode="idle"}`, at, cpu), rate(1-busy/100))
		}
		add(at+"load1", gauge(busy/25))
		add(at+"memory_MemTotal_bytes", gauge(16*gib))
		add(at+"memory_MemAvailable_bytes", gauge(16*gib-used))
		add(at+`filesystem_size_bytes{device="a",fstype="ext4",mountpoint="root"}`, gauge(4*gib))
		add(at+`filesystem_avail_bytes{device="a",fstype="ext4",mountpoint="root"}`, gauge(gib))
		add(at+`network_receive_bytes_total{device="eth0"}`, rate(1000*busy))
		add(at+`network_transmit_bytes_total{device="eth0"}`, rate(5000))
	case 3:
		at := "otlp/app/" + name + "/system_"
		for cpu := range 4 {
			add(fmt.Sprintf(`%scpu_time_seconds_total{cpu="cpu%d",state="idle"}`, at, cpu), rate(1-busy/100))
		}
		add(at+"cpu_load_average_1m", gauge(busy/25))
		add(at+`memory_usage_bytes{state="used"}`, gauge(used))
		add(at+`memory_usage_bytes{state="free"}`, gauge(16*gib-used))
		add(at+`filesystem_usage_bytes{mountpoint="root",state="used",type="ext4"}`, gauge(3*gib))
		add(at+`filesystem_usage_bytes{mountpoint="root",state="free",type="ext4"}`, gauge(gib))
		add(at+`network_io_bytes_total{device="eth0",direction="receive"}`, rate(1000*busy))
		add(at+`network_io_bytes_total{device="eth0",direction="transmit"}`, rate(5000))
	}
	return all
}

// alertRules has an alert that fires and names a host, with texts that would be markup, and one
// that is pending.
const alertRules = `groups:
  - name: hosts
    interval: 1s
    rules:
      - alert: HighLoad
        expr: vector(7.5) > 5
        labels: {instance: "web1:9100", severity: page, bad: "<img src=x onerror=planted=1>"}
        annotations:
          summary: web1 has a load of {{ $value }}
          description: Somebody compiles. <img src=x onerror=planted=1>
          runbook_url: https://runbooks.example/load
      - alert: Script
        expr: vector(1)
        annotations: {runbook_url: "javascript:planted=1"}
      - alert: DiskFills
        expr: vector(1) / 0
        for: 1h
`

// TestAlerts: what fires is counted in the navigation, listed, and marked on its host.
func TestAlerts(t *testing.T) {
	chromium(t) // or the test ends here
	rules := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(rules, []byte(alertRules), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, filepath.Join(work, "alerts"), "--rule-file", rules)
	s.rondo(t, "send", "collectd", "--to", s.listens["collectd"], "web1/load/load=1:2:3")
	x := newTab(t, s.url)
	x.open("/alerts")
	x.wait("the count is there", `document.getElementById('firing').innerText === '2'`)
	x.wait("three alerts are listed", `document.querySelectorAll('.alerts li').length === 3`)
	const firing = `[...document.querySelectorAll('.alerts .firing')].find(e => e.innerText.includes('HighLoad'))`
	for _, want := range []string{"7.5", "severity=page", "web1 has a load of 7.5", "Somebody compiles. <img", "vector(7.5) > 5"} {
		if read := eval[string](x, firing+".innerText"); !strings.Contains(read, want) {
			t.Errorf("one does not read %q: %s", want, read)
		}
	}
	links := eval[[]string](x, `[...document.querySelectorAll('.alerts a[target]')].map(a => a.href)`)
	if len(links) != 1 || links[0] != "https://runbooks.example/load" {
		t.Errorf("links of runbooks: %q", links)
	}
	if at := eval[string](x, firing+`.querySelector('a.alert-label').href`); at != s.url+"/host/web1" {
		t.Errorf("the label that names the host leads to %s", at)
	}
	x.wait("the expression is drawn with its threshold", firing+`.querySelector('.alert-chart canvas') && ["7.50", "threshold", "5"].every(w => `+firing+`.querySelector('.alert-chart').innerText.includes(w))`)
	for _, at := range []size{laptop, phone} {
		x.resize(at)
		for _, scheme := range []string{"light", "dark"} {
			x.scheme(scheme)
			x.settle()
			x.keep("alerts-firing-" + at.name + "-" + scheme)
		}
		if wide := eval[int64](x, "document.documentElement.scrollWidth"); wide > at.width {
			t.Errorf("the page is %d pixels wide in a window of %d", wide, at.width)
		}
	}
	x.resize(laptop)
	x.open("/")
	x.wait("the host is first and has a mark", `document.querySelector('.hosts tbody tr:nth-child(2)')?.innerText.replace(/\s+/g, ' ').startsWith('firing web1') && document.querySelector('.hosts .alert-mark')?.innerText === 'HighLoad'`)
	x.settle()
	x.keep("alerts-home")
	x.open("/?view=cards")
	x.wait("the card has a mark", `document.querySelector('.card[href="/host/web1"] .alert-mark')?.innerText === 'HighLoad'`)
	x.click(`.card[href="/host/web1"]`)
	x.wait("the host has a mark", `document.querySelector('.host-head .alert-mark')?.innerText.startsWith('web1 has a load of 7.5, for ')`)
	x.settle()
	x.keep("alerts-host")
	x.scripts(false)
	x.open("/alerts")
	read := eval[string](x, "document.body.innerText")
	for _, want := range []string{"firing: HighLoad", "pending: DiskFills", "https://runbooks.example/load", "javascript:planted=1"} {
		if !strings.Contains(read, want) {
			t.Errorf("without scripts one does not read %q: %s", want, read)
		}
	}
	if n := eval[int](x, `document.querySelectorAll('main a').length`); n != 1 {
		t.Errorf("%d links of runbooks without scripts", n)
	}
}
