package hosts

import (
	"math"
	"strings"
)

// The figures of a host, as places in Row.Figures.
const (
	CPU      = iota // busy, in percent of all cores
	Load            // of the last minute, by core
	Memory          // used, in percent
	Disk            // of the fullest file system, in percent
	In              // of the network, in bit/s
	Out             // likewise
	figures         // how many there are
	Pin      = figures
	allCells = figures + 1
)

// A role is what a series says about its host.
type role uint8

const (
	idle     role = iota // of a core, in percent
	busy                 // of all cores, in percent
	cores                // how many there are
	load                 // of the last minute
	memPart              // of the memory, not in use
	memUsed              // in bytes
	memTotal             // in bytes
	memFree              // bytes that programs could have
	memShare             // used, in percent
	fsUsed               // of a file system, in bytes
	fsFree               // likewise
	fsSize               // likewise
	fsShare              // used, in percent
	netIn                // of an interface, in bytes/s
	netOut               // likewise
)

// A sign is how series of a role are recognized.
type sign struct {
	role role
	// name is the end of the path, behind the host. A * stands for any part of a name: the
	// core, file system or interface. Behind a metric's name stand labels in braces: one that
	// the series must have, and the name of one that differs from core to core.
	name   string
	ds     string  // the data source; empty: the first
	factor float64 // 0: 1
	rate   bool    // only of series that keep changes per second
}

// signs lists the roles by what sends them. The figures of one host come from one sender each.
var signs = map[string][]sign{
	"collectd": {
		{role: idle, name: "cpu-*/cpu-idle", rate: true},
		{role: idle, name: "cpu-*/percent-idle"},
		{role: idle, name: "cpu/percent-idle"},
		{role: load, name: "load/load", ds: "shortterm"},
		{role: memUsed, name: "memory/memory-used"},
		{role: memPart, name: "memory/memory-*"},
		{role: memShare, name: "memory/percent-used"},
		{role: fsUsed, name: "df-*/df_complex-used"},
		{role: fsFree, name: "df-*/df_complex-free"},
		{role: fsShare, name: "df-*/percent_bytes-used"},
		{role: fsUsed, name: "df/df-*", ds: "used"},
		{role: fsFree, name: "df/df-*", ds: "free"},
		{role: netIn, name: "interface-*/if_octets", ds: "rx"},
		{role: netOut, name: "interface-*/if_octets", ds: "tx"},
	},
	"ganglia": {
		{role: idle, name: "cpu_idle"},
		{role: cores, name: "cpu_num"},
		{role: load, name: "load_one"},
		{role: memTotal, name: "mem_total"},
		{role: memFree, name: "mem_free"},
		{role: memFree, name: "mem_buffers"},
		{role: memFree, name: "mem_cached"},
		{role: fsShare, name: "part_max_used"},
		{role: fsSize, name: "disk_total"},
		{role: fsFree, name: "disk_free"},
		{role: netIn, name: "bytes_in"},
		{role: netOut, name: "bytes_out"},
	},
	"prometheus": {
		{role: idle, name: `node_cpu_seconds_total{mode="idle"}cpu`, factor: 100, rate: true},
		{role: load, name: "node_load1"},
		{role: memTotal, name: "node_memory_MemTotal_bytes"},
		{role: memFree, name: "node_memory_MemAvailable_bytes"},
		{role: fsSize, name: "node_filesystem_size_bytes{}mountpoint"},
		{role: fsFree, name: "node_filesystem_avail_bytes{}mountpoint"},
		{role: netIn, name: "node_network_receive_bytes_total{}device", rate: true},
		{role: netOut, name: "node_network_transmit_bytes_total{}device", rate: true},
	},
	"otlp": {
		{role: idle, name: `system_cpu_time_seconds_total{state="idle"}cpu`, factor: 100, rate: true},
		{role: idle, name: `system_cpu_utilization_ratio{state="idle"}cpu`, factor: 100},
		{role: cores, name: "system_cpu_logical_count"},
		{role: load, name: "system_cpu_load_average_1m"},
		{role: memUsed, name: `system_memory_usage_bytes{state="used"}`},
		{role: memPart, name: "system_memory_usage_bytes{}state"},
		{role: memShare, name: `system_memory_utilization_ratio{state="used"}`, factor: 100},
		{role: fsUsed, name: `system_filesystem_usage_bytes{state="used"}mountpoint`},
		{role: fsFree, name: `system_filesystem_usage_bytes{state="free"}mountpoint`},
		{role: netIn, name: `system_network_io_bytes_total{direction="receive"}device`, rate: true},
		{role: netOut, name: `system_network_io_bytes_total{direction="transmit"}device`, rate: true},
	},
}

// unreal lists file systems that are not on a disk, and interfaces that lead nowhere: what their
// part or their type begins with.
var unreal = []string{"tmpfs", "devtmpfs", "ramfs", "squashfs", "overlay", "iso9660", "nsfs", "snap", "/snap/", "/run", "run-", "lo"}

// signsOf calls fn with the signs that a path has, one for each data source, with the sender, and
// with the core, file system or interface.
func signsOf(path string, fn func(sender string, s *sign, key string)) {
	var before *sign
	found := func(sender string, s *sign, key string) {
		if before == nil || before.ds != s.ds {
			before = s
			fn(sender, s, key)
		}
	}
	sender, rest, _ := strings.Cut(strings.TrimSuffix(path, ".rrd"), "/")
	if sender == "otlp" || sender == "prometheus" {
		at := strings.IndexByte(rest, '{')
		name := rest[:max(at, 0)]
		if at < 0 {
			at, name = len(rest), rest
		}
		name = name[strings.LastIndexByte(name, '/')+1:]
		for _, of := range []string{"prometheus", "otlp"} { // a collector may send either way
			all := signs[of]
			for i := range all {
				if key, ok := all[i].labelled(name, rest[at:]); ok {
					found(of, &all[i], key)
				}
			}
		}
		return
	}
	_, name, _ := strings.Cut(rest, "/")
	all := signs[sender]
	for i := range all {
		if key, ok := matches(all[i].name, name); ok && real(key) {
			found(sender, &all[i], key)
		}
	}
}

// labelled reports whether a metric with labels has the sign.
func (s *sign) labelled(name, labels string) (key string, ok bool) {
	want, rest, braces := strings.Cut(s.name, "{")
	if want != name {
		return "", false
	}
	if !braces {
		return "", true
	}
	need, by, _ := strings.Cut(rest, "}")
	if need != "" && !strings.Contains(labels, "{"+need) && !strings.Contains(labels, ","+need) {
		return "", false
	}
	key = labelIn(labels, by)
	return key, real(key) && real(labelIn(labels, "fstype")) && real(labelIn(labels, "type"))
}

// labelIn returns the value of a label in {A="B",C="D"}.
func labelIn(labels, name string) string {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(labels, before+name+`="`); ok && name != "" {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

// real reports whether a part counts: it is a disk, a core or an interface that leads somewhere.
func real(part string) bool {
	for _, u := range unreal {
		if part == u || len(u) > 2 && strings.HasPrefix(part, u) {
			return false
		}
	}
	return true
}

// matches reports whether a name fits a pattern with one * at most, and what that stands for.
func matches(pattern, name string) (key string, ok bool) {
	before, after, wild := strings.Cut(pattern, "*")
	if !wild {
		return "", pattern == name
	}
	if len(name) <= len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
		return "", false
	}
	key = name[len(before) : len(name)-len(after)]
	return key, !strings.Contains(key, "/")
}

// A tally adds up what one sender says about a host.
type tally struct {
	sum   [netOut + 1]float64
	n     [netOut + 1]int
	disks map[string]*tally
}

func (t *tally) add(r role, key string, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	if r >= fsUsed && r <= fsShare && key != "" {
		if t.disks == nil {
			t.disks = make(map[string]*tally)
		}
		if t.disks[key] == nil {
			t.disks[key] = new(tally)
		}
		t.disks[key].add(r, "", v)
		return
	}
	t.sum[r] += v
	t.n[r]++
}

// mean returns the mean of a role's values, or NaN without values.
func (t *tally) mean(r role) float64 { return t.sum[r] / float64(t.n[r]) }

// figures returns the figures, NaN where nothing is sent.
func (t *tally) figures(sender string) (out [allCells]float64) {
	out[CPU] = bounded(100 - t.mean(idle))
	n := t.mean(cores)
	if t.n[cores] == 0 && sender != "ganglia" && t.n[idle] > 0 {
		n = float64(t.n[idle])
	}
	out[Load] = t.mean(load) / n
	out[Memory] = t.memory()
	out[Disk] = t.disk()
	for _, d := range t.disks {
		if v := d.disk(); !(out[Disk] >= v) && !math.IsNaN(v) {
			out[Disk] = v
		}
	}
	out[In], out[Out], out[Pin] = math.NaN(), math.NaN(), math.NaN()
	if t.n[netIn] > 0 {
		out[In] = 8 * t.sum[netIn]
	}
	if t.n[netOut] > 0 {
		out[Out] = 8 * t.sum[netOut]
	}
	return out
}

func (t *tally) memory() float64 {
	used, total := t.sum[memUsed], t.sum[memUsed]+t.sum[memPart]
	switch {
	case t.n[memShare] > 0:
		return bounded(t.mean(memShare))
	case t.n[memTotal] > 0 && t.n[memFree] > 0:
		total = t.mean(memTotal)
		used = total - t.sum[memFree]
	case t.n[memUsed] == 0 || t.n[memPart] == 0:
		return math.NaN()
	}
	return bounded(100 * used / total)
}

func (t *tally) disk() float64 {
	free, used := t.sum[fsFree], t.sum[fsUsed]
	switch {
	case t.n[fsShare] > 0:
		return bounded(t.mean(fsShare))
	case t.n[fsFree] == 0:
		return math.NaN()
	case t.n[fsSize] > 0:
		used = t.sum[fsSize] - free
	case t.n[fsUsed] == 0:
		return math.NaN()
	}
	return bounded(100 * used / (used + free))
}

// bounded returns a share in percent between 0 and 100.
func bounded(v float64) float64 { return max(0, min(v, 100)) }
