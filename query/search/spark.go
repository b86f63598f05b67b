package search

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/quantity"
	"github.com/rondo-db/rondo/rra"
)

const sparkFrom = 500 // series of a node among which its own is chosen

// A Spark is the series and data source that say most about a node. A value in Unit is the stored
// value times Factor plus Offset. The zero Spark says that nothing is known.
type Spark struct {
	Path, DS, Title, Unit, CF string
	Factor, Offset            float64
}

// A telling matches series that say much about their host or folder, such as its load.
type telling struct {
	path           string // the end of the path, as matches takes it
	ds             string // empty: the first
	title, unit    string
	factor, offset float64
}

// tellings lists what says most about a host or another folder, the best first.
var tellings = []telling{
	{"rondo/samples", "", "Samples", "/s", 1, 0},
	{"cpu-average/cpu-idle", "", "CPU", "%", -1, 100},
	{"cpu/percent-idle", "", "CPU", "%", -1, 100},
	{"cpu-average/percent-idle", "", "CPU", "%", -1, 100},
	{"cpu_avg", "", "CPU", "%", 100, 0},
	{"cpu_idle", "", "CPU", "%", -1, 100},
	{"cpu0", "", "CPU 0", "%", 100, 0},
	{"load/load", "shortterm", "Load", "", 1, 0},
	{"load_one", "", "Load", "", 1, 0},
	{"node_load1", "", "Load", "", 1, 0},
	{"system_cpu_load_average_1m", "", "Load", "", 1, 0},
	{"loadavg", "", "Load", "", 1, 0},
	{"% Processor Time", "", "CPU", "%", 1, 0},
	{"percent-idle", "", "CPU", "%", -1, 100},
	{"cpu-idle", "", "CPU", "%", -1, 100},
	{"cpu-user", "", "CPU, user", "%", 1, 0},
	{"if_octets", "rx", "In", "bit/s", 8, 0},
	{"if_octets*", "rx", "In", "bit/s", 8, 0},
	{"bytes_in", "", "In", "bit/s", 8, 0},
	{"ping*", "", "Ping", "ms", 1, 0},
	{"df_complex-used", "", "Used", "B", 1, 0},
	{"percent_bytes-used", "", "Used", "%", 1, 0},
	{"df*", "used", "Used", "B", 1, 0},
	{"disk_octets", "read", "Read", "B/s", 1, 0},
	{"memory-used", "", "Memory used", "B", 1, 0},
	{"percent-used", "", "Used", "%", 1, 0},
	{"mem_free", "", "Memory free", "kB", 1, 0},
	{"memory_free_kib", "", "Memory free", "KiB", 1, 0},
}

// matches reports whether a path ends as t says: in the same names, where a * at the end stands for
// anything.
func (t *telling) matches(path string) bool {
	want, prefix := strings.CutSuffix(t.path, "*")
	if prefix {
		return strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], want)
	}
	path, _, _ = strings.Cut(path, "{") // labels
	rest, ok := strings.CutSuffix(strings.TrimSuffix(path, ".rrd"), want)
	return ok && (rest == "" || rest[len(rest)-1] == '/')
}

// spark returns what says most about a node: the best of tellings among the series at and below it,
// or else any series. Of several that are equally good it is the one with the least path.
func (x *Index) spark(node uint32) (Spark, error) { return x.sparkAmong(x.tree.below(node, sparkFrom)) }

func (x *Index) sparkAmong(nodes []uint32) (Spark, error) {
	best, chosen := len(tellings), uint32(0)
	first := ""
	for _, s := range nodes {
		path := x.tree.path(s)
		if chosen == 0 || best == len(tellings) && path < first {
			chosen, first = s, path
		}
		for i := range min(best+1, len(tellings)) {
			if tellings[i].matches(path) {
				if i < best || path < first {
					best, chosen, first = i, s, path
				}
				break
			}
		}
	}
	if chosen == 0 {
		return Spark{}, nil
	}
	e, err := core.SeriesOf(context.Background(), x.store, x.tree.links[chosen].ref)
	switch {
	case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrDamaged): // dropped, or lost
		return Spark{}, nil
	case err != nil:
		return Spark{}, err
	}
	if best == len(tellings) {
		return x.plainSpark(&e)
	}
	t := &tellings[best]
	out := Spark{Path: e.Path, DS: t.ds, Title: t.title, Unit: t.unit, Factor: t.factor, Offset: t.offset, CF: cfOf(e.Definition)}
	if !slices.ContainsFunc(e.Definition.Sources, func(s rra.DataSource) bool { return s.Name == t.ds }) {
		out.DS = e.Definition.Sources[0].Name
	}
	return out, nil
}

// plainSpark is the first data source of a series as it is.
func (x *Index) plainSpark(e *core.Series) (Spark, error) {
	out := Spark{Path: e.Path, DS: e.Definition.Sources[0].Name, Factor: 1, CF: cfOf(e.Definition)}
	out.Title = strings.TrimSuffix(e.Path[strings.LastIndexByte(e.Path, '/')+1:], ".rrd")
	out.Unit = quantity.UnitOf(out.Title)
	if !strings.Contains(out.Title, "{") {
		out.Title = strings.ReplaceAll(out.Title, "_", " ")
	}
	m, err := core.MetadataOf(context.Background(), x.store, e.Path)
	if err != nil && !errors.Is(err, core.ErrDamaged) {
		return Spark{}, err
	}
	for _, a := range m.Attributes {
		if a.Name == "units" {
			out.Unit = a.Value
		}
	}
	return out, nil
}

// cfOf returns the consolidation function to fetch a series with.
func cfOf(d *rra.Definition) string {
	for i := range d.Archives {
		if d.Archives[i].CF == rra.Average {
			return rra.Average.String()
		}
	}
	return d.Archives[0].CF.String()
}
