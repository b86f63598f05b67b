package receivebench

import "fmt"

// A list is the values of one series, which a host reads together.
type list struct {
	plugin, pluginInstance string
	typ, typeInstance      string
	with                   bool // read at the time of the list before it
	sources                []sourceOf
}

// A sourceOf is the kind and the shape of one value of a list.
type sourceOf struct {
	kind  kind
	shape shape
}

// An adder adds a series to a host.
type adder func(plugin, pluginInstance, typ, typeInstance string, with bool, sources ...sourceOf)

// host returns the series of one host, in the order in which they are read. They are those that
// collectd's plugins read on a machine with four processors, two network interfaces and one disk.
func host() []list {
	var ls []list
	add := func(plugin, pluginInstance, typ, typeInstance string, with bool, sources ...sourceOf) {
		ls = append(ls, list{plugin, pluginInstance, typ, typeInstance, with, sources})
	}
	hardware(add)
	system(add)
	for n := 1; len(ls) < hostSeries; n++ {
		add("irq", "", "irq", fmt.Sprint(n), false, sourceOf{derive, busy})
	}
	return ls
}

// hardware adds the series of processors, memory, network interfaces, disks and file systems.
func hardware(add adder) {
	for cpu := range 4 {
		for i, state := range []string{"user", "nice", "system", "idle", "wait", "interrupt", "softirq", "steal"} {
			s := sourceOf{derive, busy}
			if i == 1 || i == 5 || i == 7 {
				s.shape = idle
			}
			add("cpu", fmt.Sprint(cpu), "cpu", state, false, s)
		}
	}
	for i, state := range []string{"used", "buffered", "cached", "free", "slab_unrecl", "slab_recl"} {
		add("memory", "", "memory", state, i > 0, sourceOf{gauge, pages})
	}
	load := sourceOf{gauge, decimal}
	add("load", "", "load", "", false, load, load, load)
	for _, name := range []string{"eth0", "lo"} {
		moving, still := sourceOf{derive, busy}, sourceOf{derive, constant}
		add("interface", name, "if_packets", "", false, moving, moving)
		add("interface", name, "if_octets", "", false, moving, moving)
		add("interface", name, "if_errors", "", false, still, still)
		add("interface", name, "if_dropped", "", false, still, still)
	}
	for _, name := range []string{"vda", "vda1"} {
		ops := sourceOf{derive, busy}
		add("disk", name, "disk_octets", "", false, ops, ops)
		add("disk", name, "disk_ops", "", false, ops, ops)
		add("disk", name, "disk_time", "", false, ops, ops)
		add("disk", name, "disk_merged", "", false, sourceOf{derive, idle}, ops)
		add("disk", name, "disk_io_time", "", false, ops, ops)
		add("disk", name, "pending_operations", "", false, sourceOf{gauge, whole})
	}
	for _, name := range []string{"root", "boot"} {
		s := sourceOf{gauge, pages}
		if name == "boot" {
			s.shape = constant
		}
		for _, part := range []string{"free", "reserved", "used"} {
			add("df", name, "df_complex", part, false, s)
		}
	}
}

// system adds the series of processes, swap space, connections and the rest.
func system(add adder) {
	for _, state := range []string{"running", "sleeping", "zombies", "stopped", "paging", "blocked"} {
		s := sourceOf{gauge, constant}
		if state == "running" || state == "sleeping" {
			s.shape = whole
		}
		add("processes", "", "ps_state", state, false, s)
	}
	add("processes", "", "fork_rate", "", false, sourceOf{derive, busy})
	for i, state := range []string{"used", "cached", "free"} {
		add("swap", "", "swap", state, i > 0, sourceOf{gauge, constant})
	}
	for i, way := range []string{"in", "out"} {
		add("swap", "", "swap_io", way, i > 0, sourceOf{derive, idle})
	}
	for i, state := range []string{
		"ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2",
		"TIME_WAIT", "CLOSED", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING",
	} {
		s := sourceOf{gauge, whole}
		if i%3 > 0 {
			s.shape = constant
		}
		add("tcpconns", "443-local", "tcp_connections", state, false, s)
	}
	for _, zone := range []string{"0", "1"} {
		add("thermal", "thermal_zone"+zone, "temperature", "", false, sourceOf{gauge, fine})
	}
	add("uptime", "", "uptime", "", false, sourceOf{gauge, whole})
	add("users", "", "users", "", false, sourceOf{gauge, constant})
	add("entropy", "", "entropy", "", false, sourceOf{gauge, whole})
	add("contextswitch", "", "contextswitch", "", false, sourceOf{derive, busy})
	add("ping", "", "ping", "gateway", false, sourceOf{gauge, fine})
}

// hostName returns the name of host h.
func hostName(h int) string { return fmt.Sprintf("host%05d.bench.example.org", h) }
