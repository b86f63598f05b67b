package collectd

import (
	"math"
	"strconv"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/rra"
)

// Identify returns the path of the series with names, and its labels. The path is
// collectd/HOST/PLUGIN[-INSTANCE]/TYPE[-INSTANCE]: "collectd/" and the file that collectd's rrdtool
// plugin writes. As in collectd, which does it before it sends and when it has received, a slash
// becomes "_". Behind a name that is changed otherwise stands a hash: see package pathname.
func Identify(n *Names) receivers.Identity {
	return receivers.Identity{
		Path:   pathname.Join("collectd", string(n.Host), withInstance(n.Plugin, n.PluginInstance), withInstance(n.Type, n.TypeInstance)),
		Labels: n.labels(),
	}
}

// withInstance returns a name and an instance as collectd joins them.
func withInstance(name, instance []byte) string {
	s := string(name)
	if len(instance) > 0 {
		s += "-" + string(instance)
	}
	return s
}

// NotePath returns the path that n is about: a series' path, or as much of it as n names.
func NotePath(n *Notification) string {
	if len(n.Plugin) > 0 && len(n.Type) > 0 {
		return Identify(&n.Names).Path
	}
	path := append(make([]byte, 0, 128), "collectd/"...)
	path = receivers.AppendComponent(path, n.Host)
	if len(n.Plugin) > 0 {
		path = receivers.AppendComponent(append(path, '/'), []byte(withInstance(n.Plugin, n.PluginInstance)))
	}
	return string(path)
}

// labels returns the labels that are not empty.
func (n *Names) labels() []core.Label {
	ls := make([]core.Label, 0, 5)
	for _, l := range [...]struct {
		name  string
		value []byte
	}{{"host", n.Host}, {"plugin", n.Plugin}, {"plugin_instance", n.PluginInstance}, {"type", n.Type}, {"type_instance", n.TypeInstance}} {
		if len(l.value) > 0 {
			ls = append(ls, core.Label{Name: l.name, Value: receivers.Text(l.value)})
		}
	}
	return ls
}

// Define returns the definition of the series of a type, as collectd's rrdtool plugin makes it.
// wire are the kinds of its values. step is in seconds; 0: the interval, rounded.
func (ts Types) Define(typ string, wire []byte, interval Stamp, step int64) *rra.Definition {
	if interval == 0 {
		interval = tenSeconds
	}
	// Twice the interval, rounded half up, without running over.
	heartbeat := max(int64((interval>>28+1)>>1), 2)
	if step == 0 {
		step = max(interval.Seconds(), 1)
	}
	d := &rra.Definition{Step: step, Sources: make([]rra.DataSource, len(wire)), Archives: receivers.StandardArchives(step)}
	known := ts[typ]
	for i, k := range wire {
		ds := rra.DataSource{Name: "value", Min: math.NaN(), Max: math.NaN()}
		if len(known) == len(wire) {
			ds = known[i]
		} else {
			if len(wire) > 1 {
				ds.Name += strconv.Itoa(i)
			}
			if k == KindDerive {
				ds.Min = 0
			}
		}
		ds.Kind, ds.Heartbeat = kinds[k], heartbeat
		d.Sources[i] = ds
	}
	return d
}

// fits reports whether a series with the definition d takes values of the given kinds.
func fits(d *rra.Definition, kinds []byte) bool {
	n := 0
	for _, ds := range d.Sources {
		if ds.Kind == rra.Compute {
			continue
		}
		if n >= len(kinds) || !fitsKind(ds.Kind, kinds[n]) {
			return false
		}
		n++
	}
	return n == len(kinds)
}

// fitsKind reports whether a data source of kind k takes values of a kind on the wire: it is of the
// corresponding kind, or was altered to the kind that also takes doubles.
func fitsKind(k rra.Kind, wire byte) bool {
	switch k {
	case rra.DCounter:
		k = rra.Counter
	case rra.DDerive:
		k = rra.Derive
	}
	return k == kinds[wire]
}
