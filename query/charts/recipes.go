package charts

import (
	"strconv"
	"strings"
)

var cpuParts = []part{
	{name: "system", label: "System", color: red},
	{name: "user", label: "User", color: blue},
	{name: "nice", label: "Nice", color: green},
	{name: "wait", label: "Wait", color: orange},
	{name: "wio", label: "Wait", color: orange},
	{name: "interrupt", label: "Interrupt", color: purple},
	{name: "intr", label: "Interrupt", color: purple},
	{name: "softirq", label: "Soft interrupt", color: pink},
	{name: "sintr", label: "Soft interrupt", color: pink},
	{name: "steal", label: "Steal", color: gray},
	{name: "idle", label: "Idle", color: pale},
}

var memoryParts = []part{
	{name: "used", label: "Used", color: red},
	{name: "arc", label: "ARC", color: purple},
	{name: "wired", label: "Wired", color: purple},
	{name: "active", label: "Active", color: pink},
	{name: "inactive", label: "Inactive", color: brown},
	{name: "slab_unrecl", label: "Slab, not reclaimable", color: gray},
	{name: "slab_recl", label: "Slab, reclaimable", color: teal},
	{name: "slab", label: "Slab", color: teal},
	{name: "shared", label: "Shared", color: purple},
	{name: "buffered", label: "Buffers", color: orange},
	{name: "buffers", label: "Buffers", color: orange},
	{name: "cached", label: "Cached", color: blue},
	{name: "free", label: "Free", color: green},
	{name: "total", label: "Total", color: gray, style: styleLine},
}

var usedParts = []part{
	{name: "used", label: "Used", color: red},
	{name: "reserved", label: "Reserved", color: orange},
	{name: "cached", label: "Cached", color: blue},
	{name: "free", label: "Free", color: green},
}

// mirrored returns two parts: what comes in is shown above zero, what goes out below it.
func mirrored(in, out, inLabel, outLabel string, factor float64) []part {
	return []part{
		{name: in, label: inLabel, color: green, factor: factor, style: styleArea},
		{name: out, label: outLabel, color: blue, factor: -factor, style: styleArea},
	}
}

// recipes lists all families. A series belongs to the first one that matches its path and has a
// part for it.
var recipes = func() []recipe {
	var all []recipe
	for _, f := range []struct {
		sender string
		some   []recipe
	}{{"", collectdRecipes}, {ganglia, gangliaRecipes}, {"rrdd/", xenRecipes}, {"mono/", monoRecipes}, {"rondo/", ownRecipes}} {
		for _, r := range f.some {
			r.sender, r.place = f.sender, len(all)
			all = append(all, r)
		}
	}
	return all
}()

var collectdRecipes = []recipe{
	{tail: "aggregation-cpu-*/cpu-*", key: "aggregation-cpu-$1", title: "CPU $1", group: "CPU", unit: "%", to100: true, stack: true, percent: true, style: styleArea, parts: cpuParts},
	{tail: "aggregation-cpu-*/percent-*", key: "aggregation-cpu-$1", title: "CPU $1", group: "CPU", unit: "%", to100: true, stack: true, style: styleArea, parts: cpuParts},
	{tail: "cpu/percent-*", key: "cpu", title: "CPU", group: "CPU", unit: "%", to100: true, stack: true, style: styleArea, parts: cpuParts},
	{tail: "cpu/cpu-*", key: "cpu", title: "CPU", group: "CPU", unit: "%", to100: true, stack: true, percent: true, style: styleArea, parts: cpuParts},
	{tail: "cpu-*/percent-*", key: "cpu-$1", title: "CPU $1", group: "CPU", unit: "%", to100: true, stack: true, style: styleArea, parts: cpuParts},
	{tail: "cpu-*/cpu-*", key: "cpu-$1", title: "CPU $1", group: "CPU", unit: "%", to100: true, stack: true, percent: true, style: styleArea, parts: cpuParts},
	{tail: "cpufreq/cpufreq-*", key: "cpufreq", title: "CPU frequency", group: "CPU", unit: "Hz", open: true},
	{tail: "cpufreq-*/cpufreq", key: "cpufreq", title: "CPU frequency", group: "CPU", unit: "Hz", open: true},

	{tail: "load/load", key: "load", title: "Load", group: "Load", from0: true, parts: loadParts},
	{tail: "load/load-relative", key: "load-relative", title: "Load by CPU", group: "Load", from0: true, bySource: true, parts: loadParts},

	{tail: "memory/memory-*", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, parts: memoryParts, open: true},
	{tail: "memory/percent-*", key: "memory-percent", title: "Memory", group: "Memory", unit: "%", to100: true, stack: true, style: styleArea, parts: memoryParts, open: true},
	{tail: "memory-*/memory-*", key: "memory-$1", title: "Memory $1", group: "Memory", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, parts: memoryParts, open: true},

	{tail: "swap/swap-*", key: "swap", title: "Swap", group: "Swap", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "swap-*/swap-*", key: "swap-$1", title: "Swap $1", group: "Swap", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "swap/percent-*", key: "swap-percent", title: "Swap", group: "Swap", unit: "%", to100: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "swap/swap_io-*", key: "swap_io", title: "Swapped in and out", group: "Swap", unit: "1/s", parts: mirrored("in", "out", "In", "Out", 1)},

	{tail: "interface-*/if_octets", key: "if_octets-$1", title: "$1 traffic", group: "Network", unit: "bit/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 8)},
	{tail: "interface/if_octets-*", key: "if_octets-$1", title: "$1 traffic", group: "Network", unit: "bit/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 8)},
	{tail: "interface-*/if_packets", key: "if_packets-$1", title: "$1 packets", group: "Network", unit: "1/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 1)},
	{tail: "interface/if_packets-*", key: "if_packets-$1", title: "$1 packets", group: "Network", unit: "1/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 1)},
	{tail: "interface-*/if_errors", key: "if_errors-$1", title: "$1 errors", group: "Network", unit: "1/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 1)},
	{tail: "interface/if_errors-*", key: "if_errors-$1", title: "$1 errors", group: "Network", unit: "1/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 1)},
	{tail: "interface-*/if_dropped", key: "if_dropped-$1", title: "$1 dropped", group: "Network", unit: "1/s", bySource: true, parts: mirrored("rx", "tx", "In", "Out", 1)},
	{tail: "tcpconns-*/tcp_connections-*", key: "tcpconns-$1", title: "TCP connections $1", group: "Network", from0: true, stack: true, style: styleArea, parts: tcpParts, open: true},
	{tail: "conntrack/conntrack-max", key: "conntrack", title: "Tracked connections", group: "Network", from0: true, parts: []part{{label: "Most possible", color: gray}}},
	{tail: "conntrack/conntrack", key: "conntrack", title: "Tracked connections", group: "Network", from0: true, parts: []part{{label: "Tracked", color: blue}}},
	{tail: "wireless-*/bitrate", key: "bitrate-$1", title: "$1 bit rate", group: "Network", unit: "bit/s", from0: true, bySource: true, open: true},

	{tail: "disk-*/disk_octets", key: "disk_octets-$1", title: "$1 throughput", group: "Disk", unit: "B/s", bySource: true, parts: mirrored("read", "write", "Read", "Written", 1)},
	{tail: "disk-*/disk_ops", key: "disk_ops-$1", title: "$1 operations", group: "Disk", unit: "1/s", bySource: true, parts: mirrored("read", "write", "Reads", "Writes", 1)},
	{tail: "disk-*/disk_time", key: "disk_time-$1", title: "$1 time of an operation", group: "Disk", unit: "s", bySource: true, parts: mirrored("read", "write", "Read", "Write", 0.001)},
	{tail: "disk-*/disk_merged", key: "disk_merged-$1", title: "$1 merged operations", group: "Disk", unit: "1/s", bySource: true, parts: mirrored("read", "write", "Reads", "Writes", 1)},
	{tail: "disk-*/disk_io_time", key: "disk_io_time-$1", title: "$1 busy", group: "Disk", unit: "%", from0: true, bySource: true, parts: []part{
		{name: "io_time", label: "Busy", color: blue, factor: 0.1}, {name: "weighted_io_time", label: "Busy, weighted by waiting operations", color: orange, factor: 0.1},
	}},
	{tail: "disk-*/pending_operations", key: "pending_operations-$1", title: "$1 waiting operations", group: "Disk", from0: true, bySource: true, open: true},

	{tail: "df-*/df_complex-*", key: "df-$1", title: "$1", group: "File systems", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "df-*/percent_bytes-*", key: "df-percent-$1", title: "$1, used", group: "File systems", unit: "%", to100: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "df-*/df_inodes-*", key: "df-inodes-$1", title: "$1 inodes", group: "File systems", from0: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "df-*/percent_inodes-*", key: "df-percent-inodes-$1", title: "$1 inodes, used", group: "File systems", unit: "%", to100: true, stack: true, style: styleArea, parts: usedParts, open: true},
	{tail: "df/df-*", key: "df-$1", title: "$1", group: "File systems", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, bySource: true, parts: usedParts, open: true},

	{tail: "ping/ping-*", key: "ping-$1", title: "Ping $1", group: "Latency", unit: "ms", from0: true, parts: []part{{label: "Round trip"}}},
	{tail: "ping/ping_stddev-*", key: "ping_stddev", title: "Ping, standard deviation", group: "Latency", unit: "ms", from0: true, open: true},
	{tail: "ping/ping_droprate-*", key: "ping_droprate", title: "Ping, lost", group: "Latency", unit: "%", from0: true, parts: []part{{factor: 100}}},
	{tail: "ntpd/time_offset-*", key: "ntpd_offset", title: "Clock offset", group: "Latency", unit: "s", parts: []part{{factor: 0.001}}},

	{tail: "processes/ps_state-*", key: "ps_state", title: "Processes", group: "Processes", from0: true, stack: true, style: styleArea, parts: stateParts, open: true},
	{tail: "processes/fork_rate", key: "fork_rate", title: "New processes", group: "Processes", unit: "1/s", from0: true, open: true},
	{tail: "processes-*/ps_rss", key: "ps_rss-$1", title: "$1 resident memory", group: "Processes", unit: "B", base: 1024, from0: true, bySource: true, open: true},
	{tail: "processes-*/ps_vm", key: "ps_vm-$1", title: "$1 virtual memory", group: "Processes", unit: "B", base: 1024, from0: true, bySource: true, open: true},
	{tail: "processes-*/ps_count", key: "ps_count-$1", title: "$1 processes and threads", group: "Processes", from0: true, bySource: true, open: true},
	{tail: "processes-*/ps_cputime", key: "ps_cputime-$1", title: "$1 CPU time", group: "Processes", unit: "%", from0: true, stack: true, style: styleArea, bySource: true, parts: []part{
		{name: "syst", label: "System", color: red, factor: 1e-4}, {name: "user", label: "User", color: blue, factor: 1e-4},
	}},
	{tail: "processes-*/ps_pagefaults", key: "ps_pagefaults-$1", title: "$1 page faults", group: "Processes", unit: "1/s", from0: true, bySource: true, open: true},

	{tail: "users/users", key: "users", title: "Users", group: "System", from0: true, parts: []part{{label: "Logged in"}}},
	{tail: "uptime/uptime", key: "uptime", title: "Uptime", group: "System", unit: "d", from0: true, parts: []part{{label: "Days", factor: 1.0 / 86400}}},
	{tail: "entropy/entropy", key: "entropy", title: "Entropy", group: "System", unit: "bit", from0: true, parts: []part{{label: "Available"}}},
	{tail: "contextswitch/contextswitch", key: "contextswitch", title: "Context switches", group: "System", unit: "1/s", from0: true, parts: []part{{label: "Switches"}}},
	{tail: "irq/irq-*", key: "irq", title: "Interrupts", group: "System", unit: "1/s", from0: true, open: true},
	{tail: "vmem/vmpage_io-*", key: "vmpage_io-$1", title: "Paging, $1", group: "System", unit: "1/s", bySource: true, parts: mirrored("in", "out", "In", "Out", 1)},
	{tail: "thermal-*/temperature", key: "thermal", title: "Temperature", group: "System", unit: "°C", open: true},
	{tail: "sensors-*/temperature-*", key: "sensors-temperature-$1", title: "Temperature $1", group: "System", unit: "°C", open: true},
	{tail: "sensors-*/fanspeed-*", key: "sensors-fanspeed-$1", title: "Fans $1", group: "System", unit: "rpm", from0: true, open: true},
	{tail: "sensors-*/voltage-*", key: "sensors-voltage-$1", title: "Voltage $1", group: "System", unit: "V", open: true},
	{tail: "battery-*/charge", key: "battery-$1", title: "Battery $1 charge", group: "System", unit: "Ah", from0: true, bySource: true, open: true},
}

var loadParts = []part{
	{name: "shortterm", label: "1 minute", color: orange},
	{name: "midterm", label: "5 minutes", color: red},
	{name: "longterm", label: "15 minutes", color: purple},
}

var stateParts = []part{
	{name: "running", label: "Running", color: green},
	{name: "blocked", label: "Blocked", color: red},
	{name: "paging", label: "Paging", color: orange},
	{name: "zombies", label: "Zombies", color: purple},
	{name: "stopped", label: "Stopped", color: gray},
	{name: "idle", label: "Idle", color: sky},
	{name: "sleeping", label: "Sleeping", color: pale},
}

var tcpParts = []part{
	{name: "ESTABLISHED", color: green},
	{name: "LISTEN", color: blue},
	{name: "SYN_SENT", color: sky},
	{name: "SYN_RECV", color: teal},
	{name: "FIN_WAIT1", color: orange},
	{name: "FIN_WAIT2", color: brown},
	{name: "TIME_WAIT", color: pale},
	{name: "CLOSE_WAIT", color: red},
	{name: "LAST_ACK", color: purple},
	{name: "CLOSING", color: pink},
	{name: "CLOSED", color: gray},
}

// ownRecipes is for the series in which a server measures itself.
var ownRecipes = []recipe{
	{tail: "samples", key: "samples", title: "Samples", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Stored", color: blue}}},
	{tail: "samples_late", key: "samples", title: "Samples", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Late", color: orange}}},
	{tail: "samples_refused", key: "samples", title: "Samples", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Refused", color: red}}},
	{tail: "rows", key: "rows", title: "Rows and batches", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Rows stored", color: green}}},
	{tail: "batches", key: "rows", title: "Rows and batches", group: groupSamples, unit: "1/s", from0: true, parts: []part{{label: "Batches", color: purple}}},
	{tail: "cpu_seconds", key: "cpu", title: "Processor", group: "CPU", unit: "%", from0: true, parts: []part{{label: "Of one processor", color: blue, factor: 100}}},
	{tail: "memory_bytes", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Store", color: blue}}},
	{tail: "heap_bytes", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Heap", color: orange}}},
	{tail: "resident_bytes", key: "memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Process", color: gray}}},
	{tail: "log_bytes", key: "log", title: "Length of the log", group: "Disk", unit: "B", base: 1024, from0: true, parts: []part{{label: "Log", color: blue}}},
	{tail: "log_written", key: "log_written", title: "Written to the log", group: "Disk", unit: "B/s", from0: true, parts: []part{{label: "Written", color: green}}},
	{tail: "database_bytes", key: "database", title: "Database file", group: "Disk", unit: "B", base: 1024, from0: true, parts: []part{{label: "File", color: blue}}},
	{tail: "database_free", key: "database", title: "Database file", group: "Disk", unit: "B", base: 1024, from0: true, parts: []part{{label: "Free in it", color: green}}},
}

// groupSamples is the heading of what a server stores.
const groupSamples = "Samples"

// A recipe is a family of series that make charts together.
type recipe struct {
	// sender is what the paths begin with, such as ganglia/; empty: anything. Ganglia's series may
	// also come from its own files, whose only data source is sum.
	sender string
	// tail is the end of the paths, name by name. A * stands for any part of a name, a # for
	// digits; what they stand for is $1, $2 and so on in key and title.
	tail  string
	key   string // what the chart's ID ends with
	title string
	group string
	unit  string
	base  int // 0: 1000
	// from0 sets the lower limit to 0. to100 sets the limits to 0 and 100.
	from0, to100   bool
	stack, percent bool
	style          string // of lines; empty: line
	// What the last * of tail stands for names the part. The data source names it if tail has no *
	// or if bySource is true.
	bySource bool
	parts    []part
	open     bool // parts that are not listed are shown as well
	place    int  // in the table
}

// A part is what one line of a recipe shows.
type part struct {
	name   string // what the * stands for, or the data source; empty: any
	label  string // empty: the name
	color  string
	factor float64 // 0: 1
	offset float64
	style  string // empty: the style of the recipe
}

// match reports whether a path ends in the tail of the recipe, and returns what each * stands for,
// and what stands before the tail.
func (r *recipe) match(path string) (captures []string, base string, ok bool) {
	path = strings.TrimSuffix(path, ".rrd")
	tail := r.tail
	for {
		i, j := strings.LastIndexByte(tail, '/'), strings.LastIndexByte(path, '/')
		capture, wild, ok := matchName(tail[i+1:], path[j+1:])
		if !ok {
			return nil, "", false
		}
		if wild {
			captures = append([]string{capture}, captures...)
		}
		if i < 0 {
			return captures, path[:max(j, 0)], true
		}
		if j < 0 {
			return nil, "", false
		}
		tail, path = tail[:i], path[:j]
	}
}

// sentBy reports whether a series may come from the recipe's sender.
func (r *recipe) sentBy(s *Series) bool {
	if r.sender == "" || strings.HasPrefix(s.Path, r.sender) {
		return true
	}
	return r.sender == ganglia && len(s.Sources) == 1 && s.Sources[0].Name == "sum"
}

// matchName matches a name with a pattern that has at most one * or #.
func matchName(pattern, name string) (capture string, wild, ok bool) {
	at := strings.IndexAny(pattern, "*#")
	if at < 0 {
		return "", false, pattern == name
	}
	before, after := pattern[:at], pattern[at+1:]
	if pattern[at] == '#' && leading(name[min(at, len(name)):]) != len(name)-len(before)-len(after) {
		return "", true, false
	}
	if len(name) <= len(before)+len(after) || !strings.HasPrefix(name, before) || !strings.HasSuffix(name, after) {
		return "", true, false
	}
	return name[len(before) : len(name)-len(after)], true, true
}

// expand puts captures in place of $1, $2 and so on.
func expand(text string, captures []string) string {
	for i, c := range captures {
		text = strings.ReplaceAll(text, "$"+strconv.Itoa(i+1), c)
	}
	return text
}

// ganglia is the beginning of the paths of Ganglia's series.
const ganglia = "ganglia/"
