package charts

import (
	"slices"
	"strings"

	"github.com/rondo-db/rondo/internal/quantity"
)

// labelled lists senders whose series are a metric and labels, with how many names of their paths
// stand for a host.
var labelled = map[string]int{"prometheus": 3, "otlp": 3, "influx": 2}

// common lists labels that name a series' host or metric, and not what it measures.
var common = []string{"__name__", "job", "instance", "host", "hostname", "db"}

// metric adds a series of a metric and labels to the chart of the metric, and reports false for
// other series. A chart has all series of a metric that a host has.
func (b *builder) metric(s *Series) bool {
	parts := strings.Split(s.Path, "/")
	n := labelled[parts[0]]
	if n == 0 || s.Metric == "" || len(parts) <= n {
		return false
	}
	base, name := strings.Join(parts[:n], "/"), s.Metric
	group, about := words(parts[1]), name
	if n == 2 { // a field of a measurement
		if about = parts[len(parts)-1]; about == "value" {
			about = parts[1]
		}
	} else {
		group, about = areaOf(name)
	}
	for _, ds := range s.Sources {
		text, u := unitOfMetric(s, about, ds)
		l := s.line(ds.Name, ds.Name)
		l.Factor = u.factor
		d := b.draft(base+"/"+name+u.suffix(), func() *draft {
			return &draft{base: base, rank: rankOf(group), Chart: Chart{
				Title: metricWords(text), Group: group, Unit: u.text, Base: u.base, Lower: none, Upper: none,
			}}
		})
		d.Lines = append(d.Lines, l)
		d.labels = append(d.labels, s.Labels)
		d.several = d.several || len(s.Sources) > 1
	}
	return true
}

// areas are the headings of metrics of hosts, by the word behind node_ and system_.
var areas = map[string]string{
	"cpu": "CPU", "load": "Load", "load1": "Load", "load5": "Load", "load15": "Load", "memory": "Memory", "paging": "Swap",
	"network": "Network", "netstat": "Network", "disk": "Disk", "filesystem": "File systems", "processes": "Processes", "procs": "Processes",
}

// areaOf returns the heading of a metric, and what its title is made of.
func areaOf(metric string) (heading, about string) {
	first, rest, ok := strings.Cut(strings.TrimLeft(metric, "_:"), "_")
	if ok && (first == "node" || first == "system") {
		second, _, _ := strings.Cut(rest, "_")
		if area := areas[second]; area != "" {
			return area, rest
		}
		return "System", rest
	}
	return words(first), metric
}

// unitOfMetric returns the name of a metric without its unit, and the unit.
func unitOfMetric(s *Series, name string, ds Source) (string, unit) {
	u := unitOf(s, name, ds)
	name = strings.TrimSuffix(name, "_total")
	if i := strings.LastIndexByte(name, '_'); i > 0 && quantity.UnitOf(name) != "" {
		name = name[:i]
	}
	if u.text == "s/s" { // the part of each second
		u.text, u.factor = "%", 100
	}
	return name, u
}

func metricWords(name string) string {
	all := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ':' || r == '.' })
	for i, w := range all {
		if slices.Contains([]string{"cpu", "http", "io", "ip", "tcp", "udp", "gc", "rpc", "dns", "api"}, w) {
			all[i] = strings.ToUpper(w)
		}
	}
	return words(strings.Join(all, " "))
}

// mostTold is how many values of labels a title has at most.
const mostTold = 3

// distinguish makes the labels of lines of what differs within their chart. A value that a whole
// chart shares, and that differs elsewhere on the host, stands in its title.
func (b *builder) distinguish() {
	values := make(map[string]map[string]bool) // by base and label
	for _, d := range b.drafts {
		for _, ls := range d.labels {
			for _, l := range ls {
				key := d.base + "\x00" + l.Name
				if values[key] == nil {
					values[key] = make(map[string]bool)
				}
				values[key][l.Value] = true
			}
		}
	}
	for _, d := range b.drafts {
		if len(d.labels) == 0 {
			continue
		}
		var told []string
		for _, l := range d.labels[0] {
			if d.shares(l) && len(values[d.base+"\x00"+l.Name]) > 1 && !slices.Contains(common, l.Name) && len(told) < mostTold {
				told = append(told, l.Value)
			}
		}
		for i := range d.Lines {
			var own []string
			for _, l := range d.labels[i] {
				if !d.shares(l) && !slices.Contains(common, l.Name) {
					own = append(own, l.Value)
				}
			}
			if d.several || len(own) == 0 && len(d.Lines) > 1 {
				own = append(own, d.Lines[i].DS)
			}
			if d.Lines[i].Label = strings.Join(own, ", "); len(own) == 0 {
				d.Lines[i].Label = d.Title
			}
		}
		d.Title = strings.Join(append([]string{d.Title}, told...), ", ")
	}
}

// shares reports whether all lines of a chart have a label.
func (d *draft) shares(l Label) bool {
	for _, ls := range d.labels {
		if !slices.Contains(ls, l) {
			return false
		}
	}
	return true
}
