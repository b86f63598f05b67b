//go:build !race

package browsertest

import (
	"fmt"
	"math"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
)

// What the tests look for in the database.
const (
	hosts     = 40
	yearHosts = 3 // the first of them have a year of history, the others two days
	slowHost  = "web03"
	slowFor   = 3*day + 11*3600 // seconds since when the slow host is slow
)

// Names that would be markup if the page let them.
const (
	hostileHost   = `<img src=x onerror=alert(1)>`
	hostileType   = `"onload="alert(2)`
	hostileText   = `</script><script>alert(3)</script>`
	hostileTitle  = `<svg onload=alert(4)>`
	hostileUnit   = `<b>'"&amp;`
	hostileSeries = "collectd/" + hostileHost + "/cpu-0/" + hostileType
)

// house fills a database as a small hosting company's would be filled.
func house(f *filling) {
	for i := 1; i <= hosts; i++ {
		span := int64(2 * day)
		if i <= yearHosts {
			span = year
		}
		f.collectd(host(i), span)
	}
	for i := 1; i <= 3; i++ {
		f.ganglia(fmt.Sprintf("db%d.example.org", i))
	}
	f.seasonal("shop/requests")
	f.describe("shop/requests", "units", "requests/s", "description", "Requests that the shop answers")
	f.hostile()
	at := f.end - slowFor
	f.note("collectd/"+slowHost, at+600, "warning", "Host "+slowHost+", plugin load: the 5-minute load is above 6")
	f.note("collectd/"+slowHost+"/load/load", at+600, "failure", "load is 9.4, above 6")
	f.note("collectd/"+slowHost+"/load/load", f.end-3600, "okay", "noticed by nobody")
}

// collectd adds what collectd's usual plugins send of a host.
func (f *filling) collectd(name string, span int64) {
	x := &collected{f: f, host: name, span: span}
	slow := func(by float64) curve { // the trouble of the slow host
		if name != slowHost {
			return flat(0)
		}
		return func(at int64) float64 {
			if at < f.end-slowFor {
				return 0
			}
			return by
		}
	}
	for cpu := range x.few(2) {
		total := 0.0
		for _, state := range []string{"user", "system", "wait", "nice", "interrupt", "softirq", "steal"} {
			c := waves(fmt.Sprint(name, cpu, state), cpuBase[state], cpuBase[state]/2, cpuBase[state]/4)
			if state == "wait" {
				c = plus(c, slow(38))
			}
			x.add("cpu", fmt.Sprint(cpu), "cpu", state, source{"value:DERIVE:20:0:U", c})
			total += cpuBase[state]
		}
		x.add("cpu", fmt.Sprint(cpu), "cpu", "idle", source{"value:DERIVE:20:0:U", plus(waves(fmt.Sprint(name, cpu), 99-total, -total/2, 2), times(slow(38), -1))})
	}
	for kind, gib := range map[string]float64{"used": 5.2, "cached": 7.1, "buffered": 0.6, "free": 2.4, "slab_recl": 0.5, "slab_unrecl": 0.2} {
		x.add("memory", "", "memory", kind, source{"value:GAUGE:20:0:281474976710656", waves(name+kind, gib*(1<<30), gib*(1<<28), gib*(1<<24))})
	}
	for _, iface := range []string{"eth0", "lo"}[:x.few(2)] {
		pair := func(what string, rx, tx float64) []source {
			return []source{
				{"rx:DERIVE:20:0:U", waves(name+iface+what+"rx", rx, rx*0.7, rx/4)},
				{"tx:DERIVE:20:0:U", waves(name+iface+what+"tx", tx, tx*0.7, tx/4)},
			}
		}
		x.add("interface", iface, "if_octets", "", pair("octets", 2.1e6, 9.4e6)...)
		x.add("interface", iface, "if_packets", "", pair("packets", 3100, 8200)...)
		x.add("interface", iface, "if_errors", "", source{"rx:DERIVE:20:0:U", flat(0)}, source{"tx:DERIVE:20:0:U", flat(0)})
	}
	for what, v := range map[string]float64{"disk_octets": 4e6, "disk_ops": 120, "disk_time": 8} {
		x.add("disk", "sda", what, "", source{"read:DERIVE:20:0:U", waves(name+what+"r", v/3, v/4, v/5)},
			source{"write:DERIVE:20:0:U", plus(waves(name+what+"w", v, v/2, v/3), times(slow(1), v*2))})
	}
	for _, volume := range []string{"root", "var"}[:x.few(2)] {
		f.volume(x, volume)
	}
	load := waves(name+"load", 0.8, 0.5, 0.4)
	x.add("load", "", "load", "", source{"shortterm:GAUGE:20:0:5000", plus(load, slow(8.6))},
		source{"midterm:GAUGE:20:0:5000", plus(waves(name+"load", 0.8, 0.5, 0.2), slow(8.3))},
		source{"longterm:GAUGE:20:0:5000", plus(waves(name+"load", 0.75, 0.4, 0.1), slow(7.9))})
	x.add("users", "", "users", "", source{"value:GAUGE:20:0:65535", func(at int64) float64 { return math.Floor(waves(name+"users", 2, 2, 2)(at)) }})
	x.add("uptime", "", "uptime", "", source{"value:GAUGE:20:0:4294967295", func(at int64) float64 { return float64(at % (91 * day)) }})
	x.add("ping", "", "ping", "gateway", source{"value:GAUGE:20:0:65535", waves(name+"ping", 0.42, 0.1, 0.2)})
}

var cpuBase = map[string]float64{"user": 18, "system": 6, "wait": 2, "nice": 0.4, "interrupt": 0.1, "softirq": 0.6, "steal": 0.2}

// volume adds a file system that fills slowly.
func (f *filling) volume(x *collected, name string) {
	const size = 200 << 30
	used := func(at int64) float64 {
		return size * (0.3 + 0.5*float64(at-(f.end-year))/year*(0.4+hash(x.host+name)))
	}
	x.add("df", name, "df_complex", "used", source{"value:GAUGE:20:0:U", used})
	x.add("df", name, "df_complex", "reserved", source{"value:GAUGE:20:0:U", flat(size * 0.05)})
	x.add("df", name, "df_complex", "free", source{"value:GAUGE:20:0:U", func(at int64) float64 { return size*0.95 - used(at) }})
}

// A collected is a host whose series are being added.
type collected struct {
	f    *filling
	host string
	span int64
}

// few returns how many of n things a host has: those with a long history have them all.
func (x *collected) few(n int) int {
	if x.span < year {
		return 1
	}
	return n
}

func (x *collected) add(plugin, instance, kind, of string, sources ...source) {
	x.f.t.Helper()
	join := func(a, b string) string { return strings.TrimSuffix(a+"-"+b, "-") }
	x.f.series("collectd/"+x.host+"/"+join(plugin, instance)+"/"+join(kind, of), 10, x.span,
		labels("host", x.host, "plugin", plugin, "plugin_instance", instance, "type", kind, "type_instance", of), sources...)
}

// ganglia adds what gmond sends of a host.
func (f *filling) ganglia(name string) {
	for _, m := range []struct {
		metric, units, group, title, description string
		base, swing                              float64
	}{
		{"load_one", " ", "load", "One Minute Load Average", "One minute load average", 1.2, 0.6},
		{"load_five", " ", "load", "Five Minute Load Average", "Five minute load average", 1.1, 0.5},
		{"load_fifteen", " ", "load", "Fifteen Minute Load Average", "Fifteen minute load average", 1.0, 0.4},
		{"cpu_user", "%", "cpu", "CPU User", "Percentage of CPU utilization that occurred while executing at the user level", 22, 11},
		{"cpu_system", "%", "cpu", "CPU System", "Percentage of CPU utilization that occurred while executing at the system level", 7, 3},
		{"cpu_idle", "%", "cpu", "CPU Idle", "Percentage of time that the CPU or CPUs were idle", 70, -14},
		{"mem_free", "KB", "memory", "Free Memory", "Amount of available memory", 2.1e6, 4e5},
		{"bytes_in", "bytes/sec", "network", "Bytes Received", "Number of bytes in per second", 4e5, 2e5},
		{"bytes_out", "bytes/sec", "network", "Bytes Sent", "Number of bytes out per second", 9e5, 4e5},
		{"disk_free", "GB", "disk", "Disk Space Available", "Total free disk space", 130, 1},
		{"proc_run", " ", "process", "Total Running Processes", "Total number of running processes", 3, 2},
	} {
		path := "ganglia/" + name + "/" + m.metric
		attributes := []string{"units", m.units, "group", m.group, "title", m.title, "description", m.description, "cluster", "databases"}
		f.series(path, 15, 2*day, labels(append(attributes, "host", name, "metric", m.metric)...),
			source{"sum:GAUGE:120:U:U", waves(path, m.base, m.swing, m.base/8)})
		f.describe(path, attributes...)
	}
}

// hostile adds names and texts that would be markup if the page let them.
func (f *filling) hostile() {
	x := &collected{f: f, host: hostileHost, span: day}
	for _, state := range []string{"user", "system", "idle"} {
		x.add("cpu", "0", "cpu", state, source{"value:DERIVE:20:0:U", waves(hostileHost+state, 20, 10, 5)})
	}
	f.series(hostileSeries, 10, day, []core.Label{{Name: `"><script>`, Value: hostileText}}, source{"value:GAUGE:20:U:U", waves(hostileHost, 20, 10, 5)})
	f.describe(hostileSeries, "units", hostileUnit, "title", hostileTitle, "description", hostileText, `x"onclick="alert(5)`, hostileTitle)
	f.note(hostileSeries, f.end-7200, hostileTitle, hostileText)
	f.note("collectd/"+hostileHost, f.end-3600, "failure", hostileText)
}

func plus(a, b curve) curve { return func(at int64) float64 { return math.Max(0, a(at)+b(at)) } }

func times(a curve, by float64) curve { return func(at int64) float64 { return a(at) * by } }
