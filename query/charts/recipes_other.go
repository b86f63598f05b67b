package charts

// memoryKB is memoryParts for values in units of 1024 bytes.
func memoryKB() []part {
	out := make([]part, len(memoryParts))
	for i, p := range memoryParts {
		p.factor = 1024
		out[i] = p
	}
	return out
}

var gangliaRecipes = []recipe{
	{tail: "cpu_aidle", key: "cpu_aidle", title: "CPU, idle since boot", group: "CPU", unit: "%", to100: true, parts: []part{{label: "Idle"}}},
	{tail: "cpu_num", key: "cpu_num", title: "Processors", group: "System", from0: true, parts: []part{{label: "Processors"}}},
	{tail: "cpu_speed", key: "cpu_speed", title: "CPU frequency", group: "System", unit: "Hz", from0: true, parts: []part{{label: "Frequency", factor: 1e6}}},
	{tail: "cpu_*", key: "cpu", title: "CPU", group: "CPU", unit: "%", to100: true, stack: true, style: styleArea, parts: cpuParts},
	{tail: "load_*", key: "load", title: "Load", group: "Load", from0: true, parts: []part{
		{name: "one", label: "1 minute", color: orange}, {name: "five", label: "5 minutes", color: red}, {name: "fifteen", label: "15 minutes", color: purple},
	}},
	{tail: "mem_*", key: "mem", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, stack: true, style: styleArea, parts: memoryKB()},
	{tail: "swap_*", key: "swap", title: "Swap", group: "Swap", unit: "B", base: 1024, from0: true, parts: []part{
		{name: "total", label: "Total", color: gray, factor: 1024}, {name: "free", label: "Free", color: green, factor: 1024},
	}},
	{tail: "bytes_*", key: "bytes", title: "Network traffic", group: "Network", unit: "bit/s", parts: mirrored("in", "out", "In", "Out", 8)},
	{tail: "pkts_*", key: "pkts", title: "Network packets", group: "Network", unit: "1/s", parts: mirrored("in", "out", "In", "Out", 1)},
	{tail: "disk_*", key: "disk", title: "Disk space", group: "File systems", unit: "B", from0: true, parts: []part{
		{name: "total", label: "Total", color: gray, factor: 1e9}, {name: "free", label: "Free", color: green, factor: 1e9},
	}},
	{tail: "part_max_used", key: "part_max_used", title: "Fullest file system", group: "File systems", unit: "%", to100: true, parts: []part{{label: "Used", color: red}}},
	{tail: "proc_*", key: "proc", title: "Processes", group: "Processes", from0: true, parts: []part{
		{name: "total", label: "Total", color: gray}, {name: "run", label: "Running", color: green},
	}},
	{tail: "boottime", key: "boottime", title: "Time of boot", group: "System", unit: "s", parts: []part{{label: "Seconds since 1970"}}},
}

var xenRecipes = []recipe{
	{tail: "cpu_avg", key: "cpu_avg", title: "CPU", group: "CPU", unit: "%", to100: true, parts: []part{{label: "All cores", factor: 100}}},
	{tail: "cpu#", key: "cpu", title: "Busy cores", group: "CPU", unit: "%", to100: true, parts: []part{{factor: 100}}},
	{tail: "loadavg", key: "loadavg", title: "Load", group: "Load", from0: true, parts: []part{{label: "Load", color: orange}}},
	{tail: "hostload", key: "hostload", title: "Load of the virtual CPUs", group: "Load", from0: true, parts: []part{{label: "Load", color: red}}},
	{tail: "memory_*_kib", key: "memory_kib", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{
		{name: "total", label: "Total", color: gray, factor: 1024},
		{name: "free", label: "Free", color: green, factor: 1024},
		{name: "reclaimed", label: "Reclaimed", color: blue, factor: 1024},
		{name: "reclaimed_max", label: "Reclaimable", color: sky, factor: 1024},
	}},
	{tail: "xapi_*_memory_kib", key: "xapi_memory", title: "Memory of xapi", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{
		{name: "live", label: "Live", color: red, factor: 1024},
		{name: "allocation", label: "Allocated", color: orange, factor: 1024},
		{name: "free", label: "Free", color: green, factor: 1024},
	}},
	{tail: "xapi_memory_usage_kib", key: "xapi_usage", title: "Memory used by xapi", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Used", factor: 1024}}},
	{tail: "memory", key: "vm_memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Given", color: blue}}},
	{tail: "memory_target", key: "vm_memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Target", color: orange}}},
	{tail: "memory_internal_free", key: "vm_memory", title: "Memory", group: "Memory", unit: "B", base: 1024, from0: true, parts: []part{{label: "Free inside", color: green, factor: 1024}}},
	{tail: "pif_*_rx", key: "pif_$1", title: "$1 traffic", group: "Network", unit: "bit/s", parts: []part{{label: "In", color: green, factor: 8, style: styleArea}}},
	{tail: "pif_*_tx", key: "pif_$1", title: "$1 traffic", group: "Network", unit: "bit/s", parts: []part{{label: "Out", color: blue, factor: -8, style: styleArea}}},
	{tail: "vif_*_rx", key: "vif_$1", title: "Virtual interface $1 traffic", group: "Network", unit: "bit/s", parts: []part{{label: "In", color: green, factor: 8, style: styleArea}}},
	{tail: "vif_*_tx", key: "vif_$1", title: "Virtual interface $1 traffic", group: "Network", unit: "bit/s", parts: []part{{label: "Out", color: blue, factor: -8, style: styleArea}}},
	{tail: "vbd_*_read_latency", key: "vbd_latency_$1", title: "$1 latency", group: "Disk", unit: "s", parts: []part{{label: "Read", color: green, factor: 1e-6, style: styleArea}}},
	{tail: "vbd_*_write_latency", key: "vbd_latency_$1", title: "$1 latency", group: "Disk", unit: "s", parts: []part{{label: "Written", color: blue, factor: -1e-6, style: styleArea}}},
	{tail: "vbd_*_iops_read", key: "vbd_iops_$1", title: "$1 operations", group: "Disk", unit: "1/s", parts: []part{{label: "Reads", color: green, style: styleArea}}},
	{tail: "vbd_*_iops_write", key: "vbd_iops_$1", title: "$1 operations", group: "Disk", unit: "1/s", parts: []part{{label: "Writes", color: blue, factor: -1, style: styleArea}}},
	{tail: "vbd_*_read", key: "vbd_$1", title: "$1 throughput", group: "Disk", unit: "B/s", parts: []part{{label: "Read", color: green, style: styleArea}}},
	{tail: "vbd_*_write", key: "vbd_$1", title: "$1 throughput", group: "Disk", unit: "B/s", parts: []part{{label: "Written", color: blue, factor: -1, style: styleArea}}},
	{tail: "io_throughput_read_*", key: "io_throughput_$1", title: "Storage $1 throughput", group: "Storage", unit: "B/s", parts: []part{{label: "Read", color: green, factor: 1 << 20, style: styleArea}}},
	{tail: "io_throughput_write_*", key: "io_throughput_$1", title: "Storage $1 throughput", group: "Storage", unit: "B/s", parts: []part{{label: "Written", color: blue, factor: -1 << 20, style: styleArea}}},
	{tail: "iops_read_*", key: "iops_$1", title: "Storage $1 operations", group: "Storage", unit: "1/s", parts: []part{{label: "Reads", color: green, style: styleArea}}},
	{tail: "iops_write_*", key: "iops_$1", title: "Storage $1 operations", group: "Storage", unit: "1/s", parts: []part{{label: "Writes", color: blue, factor: -1, style: styleArea}}},
	{tail: "read_latency_*", key: "latency_$1", title: "Storage $1 latency", group: "Storage", unit: "s", parts: []part{{label: "Read", color: green, factor: 1e-3, style: styleArea}}},
	{tail: "write_latency_*", key: "latency_$1", title: "Storage $1 latency", group: "Storage", unit: "s", parts: []part{{label: "Written", color: blue, factor: -1e-3, style: styleArea}}},
}

var monoRecipes = []recipe{
	{tail: "Mono GC/* GC collections", key: "Mono GC/collections", title: "Garbage collections", group: "Mono GC", unit: "1/s", from0: true, open: true},
	{tail: "Mono GC/* GC time", key: "Mono GC/time", title: "Time in garbage collection", group: "Mono GC", unit: "%", from0: true, parts: []part{{factor: 1e-5}}},
	{tail: "Mono Thread/Thread count", key: "Mono Thread/threads", title: "Threads", group: "Mono Thread", from0: true, parts: []part{{label: "Threads"}}},
	{tail: "Mono System/% *", key: "Mono System/percent", title: "Process", group: "Mono System", unit: "%", from0: true, open: true},
}
