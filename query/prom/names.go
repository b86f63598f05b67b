package prom

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/rra"
)

// The labels of a series show which protocol it came by. A series that was sent with a name of
// Prometheus keeps it in the label __name__.
type scheme uint8

const (
	asSent scheme = iota
	collectd
	ganglia
	xen
	mono
	smon
	other
)

// otherName is the metric of series that neither a protocol nor a rule names.
const otherName = "rrd"

// gangliaDS is the name of the data source of Ganglia's series.
const gangliaDS = "sum"

// keyLabels are the stored labels that make the names of a scheme's metrics.
var keyLabels = [other][]string{
	asSent:   {model.MetricNameLabel},
	collectd: {"plugin", "type"},
	ganglia:  {"metric"},
	xen:      {"name"},
	mono:     {"category", "name"},
	smon:     {"token"},
}

// renamed holds, for each scheme, the stored label that a label of its metrics comes from.
var renamed = [other]map[string]string{
	collectd: {"instance": "host"},
	ganglia:  {"instance": "host", "cluster": "cluster", "group": "group", "units": "units"},
	xen:      {"plugin": "plugin", "scope": "owner", "uuid": "uuid"},
	smon:     {"instance": "peer", "index": "index"},
}

// schemeOf returns the scheme of a series with the given labels.
func schemeOf(ls []core.Label) scheme {
	var has struct{ host, metric, plugin, owner, typ, category, peer, token bool }
	for i := range ls {
		if ls[i].Value == "" {
			continue
		}
		switch ls[i].Name {
		case model.MetricNameLabel:
			return asSent
		case "host":
			has.host = true
		case "metric":
			has.metric = true
		case "plugin":
			has.plugin = true
		case "owner":
			has.owner = true
		case "type":
			has.typ = true
		case "category":
			has.category = true
		case "peer":
			has.peer = true
		case "token":
			has.token = true
		}
	}
	switch {
	case has.host && has.plugin && has.typ:
		return collectd
	case has.host && has.metric:
		return ganglia
	case has.plugin && has.owner:
		return xen
	case has.peer && has.category:
		return mono
	case has.peer && has.token:
		return smon
	}
	return other
}

// A metric is a data source of a series as Prometheus sees it.
type metric struct {
	labels  labels.Labels
	hash    uint64 // of labels
	source  int    // index of the data source
	counter bool   // the virtual counter, not the rows
	unsent  bool   // the stored rate of what was sent: see rateSuffix
}

func (x *metric) name() string { return x.labels.Get(model.MetricNameLabel) }

// An entry is what a storage knows of a stored series.
type entry struct {
	path    string
	def     *rra.Definition
	metrics []metric
}

// rawLabel holds the name of a metric as its sender wrote it, where the metric's name has a _ for
// other characters.
const rawLabel = "raw_name"

// rawName returns the value of rawLabel for a data source; empty: the name is as it was sent.
func rawName(sch scheme, get func(name string) string, ds string) string {
	if sch == asSent || sch == other {
		return ""
	}
	var parts []string
	changed := false
	for _, name := range keyLabels[sch] {
		v := get(name)
		parts, changed = append(parts, v), changed || clean(v) != v
	}
	if clean(ds) != ds {
		parts, changed = append(parts, ds), true
	}
	if !changed {
		return ""
	}
	return strings.Join(parts, "/")
}

// isRate reports whether the rows of a data source are rates of a counter.
func isRate(k rra.Kind) bool { return k != rra.Gauge && k != rra.Compute }

// entryOf returns the metrics of a stored series.
func (s *Storage) entryOf(x *core.Series) *entry {
	return &entry{path: x.Path, def: x.Definition, metrics: s.metricsOf(schemeOf(x.Labels), x)}
}

// metricsOf returns the metrics of a series of a scheme.
func (s *Storage) metricsOf(sch scheme, x *core.Series) []metric {
	metrics := make([]metric, 0, 2*len(x.Definition.Sources))
	var b labels.ScratchBuilder
	for j := range x.Definition.Sources {
		ds := &x.Definition.Sources[j]
		name := s.describe(&b, sch, x, ds.Name)
		add := func(name string, counter, unsent bool) {
			b.Add(model.MetricNameLabel, name)
			b.Sort()
			ls := distinct(&b)
			metrics = append(metrics, metric{ls, ls.Hash(), j, counter, unsent})
		}
		if !isRate(ds.Kind) {
			add(name, false, false)
			continue
		}
		rate, unsent := rateName(sch, name)
		add(rate, false, unsent)
		s.describe(&b, sch, x, ds.Name)
		add(counterName(sch, name), true, false)
	}
	return metrics
}

// rateSuffix ends the name of a stored rate where the name itself is the counter's. Nobody has sent
// such a metric, so that only a selector whose matcher of the name has the suffix finds it.
const rateSuffix = ":rate"

// rateName returns the name of the stored rate of a data source called name, and whether it has
// rateSuffix.
func rateName(sch scheme, name string) (rate string, unsent bool) {
	if sch == asSent || strings.HasSuffix(name, "_total") {
		return name + rateSuffix, true
	}
	return name, false
}

// counterName returns the name of the virtual counter of a data source called name.
func counterName(sch scheme, name string) string {
	if sch == asSent || strings.HasSuffix(name, "_total") {
		return name
	}
	return name + "_total"
}

// distinct returns the labels of b that are not empty, each name once.
func distinct(b *labels.ScratchBuilder) labels.Labels {
	ls := b.Labels().WithoutEmpty()
	if _, twice := ls.HasDuplicateLabelNames(); !twice {
		return ls
	}
	var out labels.ScratchBuilder
	last := ""
	ls.Range(func(l labels.Label) {
		if l.Name != last {
			out.Add(l.Name, l.Value)
			last = l.Name
		}
	})
	return out.Labels()
}

// describe puts the labels of a data source into b and returns the metric's name.
func (s *Storage) describe(b *labels.ScratchBuilder, sch scheme, x *core.Series, ds string) string {
	b.Reset()
	get := func(name string) string { return core.LabelValue(x.Labels, name) }
	if raw := rawName(sch, get, ds); raw != "" {
		b.Add(rawLabel, raw)
	}
	switch sch {
	case asSent:
		for _, l := range x.Labels {
			if l.Name != model.MetricNameLabel {
				b.Add(l.Name, l.Value)
			}
		}
		if len(x.Definition.Sources) > 1 && ds != "value" {
			return get(model.MetricNameLabel) + "_" + clean(ds)
		}
		return get(model.MetricNameLabel)
	case other:
		return s.describeOther(b, x, ds)
	}
	for name, stored := range renamed[sch] {
		b.Add(name, get(stored))
	}
	switch sch {
	case collectd: // as collectd_exporter does
		plugin, instance := cleanLabel(get("plugin")), get("plugin_instance")
		if instance == "" {
			b.Add(plugin, get("type_instance"))
		} else {
			b.Add(plugin, instance)
			b.Add("type", get("type_instance"))
		}
	case mono:
		address, process := agent(get("peer"))
		b.Add("instance", address)
		b.Add("process", process)
	}
	parts := []string{prefixes[sch]}
	for i, stored := range keyLabels[sch] {
		if part := get(stored); sch != collectd || i == 0 || part != get("plugin") {
			parts = append(parts, clean(part))
		}
	}
	if ds != "value" && (sch != ganglia || ds != gangliaDS) {
		parts = append(parts, clean(ds))
	}
	return strings.Join(parts, "_")
}

// prefixes are what the names of the metrics of a protocol begin with.
var prefixes = [other]string{collectd: "collectd", ganglia: "ganglia", xen: "xen", mono: "mono", smon: "smon"}

// describeOther names a data source of a series that no protocol names, by the first rule that
// matches its path.
func (s *Storage) describeOther(b *labels.ScratchBuilder, x *core.Series, ds string) string {
	p := strings.TrimSuffix(x.Path, ".rrd")
	rules := s.rules()
	for i := range rules {
		r := &rules[i]
		match := r.Path.FindStringSubmatchIndex(p)
		if match == nil {
			continue
		}
		for _, l := range r.Labels {
			b.Add(l.Name, r.expand(l.Value, p, ds, match))
		}
		if ds != "value" && !r.saysDS() {
			b.Add("ds", ds)
		}
		return clean(r.expand(r.Name, p, ds, match))
	}
	b.Add("path", p)
	b.Add("ds", ds)
	for _, l := range x.Labels {
		b.Add(cleanLabel(l.Name), l.Value)
	}
	return otherName
}

// clean returns name with a _ for each character that a metric's name cannot have.
func clean(name string) string {
	if i := strings.IndexFunc(name, func(r rune) bool { return !inName(r) }); i < 0 {
		return name
	}
	return strings.Map(func(r rune) rune {
		if inName(r) {
			return r
		}
		return '_'
	}, name)
}

func inName(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == ':'
}

func cleanLabel(name string) string {
	name = strings.ReplaceAll(clean(name), ":", "_")
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// agent returns the address and the number of the connection that a peer of Mono's is called after.
func agent(peer string) (address, process string) {
	address, process, ok := strings.Cut(peer, "#")
	if !ok {
		process = "1"
	}
	return address, process
}
