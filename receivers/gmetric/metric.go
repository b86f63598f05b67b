package gmetric

import (
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A metric is what metadata says of one, as text that can be stored.
type metric struct {
	typ        string // as sent
	slope      Slope
	tmax, dmax uint32
	units      string

	group, title, description, cluster string

	ip    string       // of a spoofed host
	extra []core.Label // other pairs, in order of their names
}

// The tmax of a metric without metadata, and the limits of what is kept.
const (
	defaultTMax = 60
	maxGroup    = maxString // bytes of all groups
	maxExtra    = 16        // other pairs
	extraBytes  = 2 << 10   // in all of them: with the rest, less than the 16 KB that the store takes
)

// metricOf returns what m, which describes one, says. left is how many extra elements are beyond
// the limits.
func metricOf(m *Message) (md metric, left int) {
	md = metric{
		typ: text(m.Type), slope: m.Slope, tmax: m.TMax, dmax: m.DMax,
		units: text(m.Units), ip: text(m.IP),
	}
	size := 0
	for _, p := range m.Extra {
		value := text(p.Value)
		switch key := text(p.Key); key {
		case "GROUP":
			switch {
			case value == "":
			case md.group == "":
				md.group = value
			case len(md.group)+1+len(value) > maxGroup:
				left++
			default:
				md.group += "," + value
			}
		case "TITLE":
			md.title = value
		case "DESC":
			md.description = value
		case "CLUSTER":
			md.cluster = value
		case "SPOOF_HOST", "SPOOF_HEARTBEAT": // how the host was named tells it already
		default:
			size += len(key) + len(value)
			if len(md.extra) == maxExtra || size > extraBytes {
				left++
				continue
			}
			md.setExtra(key, value)
		}
	}
	return md, left
}

// setExtra keeps the last value of a key.
func (md *metric) setExtra(key, value string) {
	i, found := slices.BinarySearchFunc(md.extra, key, func(l core.Label, key string) int { return strings.Compare(l.Name, key) })
	if found {
		md.extra[i].Value = value
		return
	}
	md.extra = slices.Insert(md.extra, i, core.Label{Name: key, Value: value})
}

// text returns b as text that a label may hold: what is not UTF-8 takes more room than before.
func text(b []byte) string {
	s := strings.ReplaceAll(receivers.Text(b), "\x00", "_")
	if len(s) <= maxString {
		return s
	}
	n := maxString
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// defaultMetric is what is assumed of a value whose metadata never came.
func defaultMetric(w Word) metric {
	var t Type
	switch w {
	case WordUshort:
		t = Uint16
	case WordShort:
		t = Int16
	case WordInt:
		t = Int32
	case WordUint:
		t = Uint32
	case WordFloat:
		t = Float
	case WordDouble:
		t = Double
	}
	return metric{typ: t.String(), slope: Both, tmax: defaultTMax}
}

// sum returns a hash of all that m, which describes a metric, says but its host and name. It is
// never 0.
func (m *Message) sum(seed maphash.Seed) uint64 {
	h := uint64(m.Word) + 1
	if m.Word.Core() {
		return h
	}
	h = mix(h, maphash.Bytes(seed, m.described))
	if m.Word == WordGmetric {
		h = mix(h, maphash.Bytes(seed, m.Type))
	}
	if len(m.IP) > 0 {
		h = mix(h, maphash.Bytes(seed, m.IP))
	}
	return max(h, 1)
}

func mix(h, p uint64) uint64 {
	hi, lo := bits.Mul64(h^p, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// The names of attributes that are kept of a path.
const (
	attrType        = "type"
	attrSlope       = "slope"
	attrTMax        = "tmax"
	attrDMax        = "dmax"
	attrUnits       = "units"
	attrGroup       = "group"
	attrTitle       = "title"
	attrDescription = "description"
	attrCluster     = "cluster"
	attrIP          = "ip"
	attrExtra       = "extra." // and the key
	// attrExpiry set to expiryDelete has the server delete a series that has expired.
	attrExpiry   = receivers.AttributeOnExpiry
	expiryDelete = receivers.ExpireDelete
)

// attributes returns all of md, in order of the names.
func (md *metric) attributes(remove bool) []core.Label {
	ls := make([]core.Label, 0, 12+len(md.extra))
	ls = append(ls,
		core.Label{Name: attrSlope, Value: md.slope.String()},
		core.Label{Name: attrTMax, Value: strconv.FormatUint(uint64(md.tmax), 10)},
		core.Label{Name: attrDMax, Value: strconv.FormatUint(uint64(md.dmax), 10)},
	)
	if remove && md.dmax > 0 {
		ls = append(ls, core.Label{Name: attrExpiry, Value: expiryDelete})
	}
	for _, l := range [...]core.Label{
		{Name: attrType, Value: md.typ},
		{Name: attrUnits, Value: md.units},
		{Name: attrGroup, Value: md.group},
		{Name: attrTitle, Value: md.title},
		{Name: attrDescription, Value: md.description},
		{Name: attrCluster, Value: md.cluster},
		{Name: attrIP, Value: md.ip},
	} {
		if l.Value != "" {
			ls = append(ls, l)
		}
	}
	for _, l := range md.extra {
		ls = append(ls, core.Label{Name: attrExtra + l.Name, Value: l.Value})
	}
	slices.SortFunc(ls, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return ls
}

// parseAttributes is the reverse. It reports whether ls are those of a metric.
func parseAttributes(ls []core.Label) (md metric, ok bool) {
	for _, l := range ls {
		switch l.Name {
		case attrSlope:
			md.slope, ok = ParseSlope(l.Value)
		case attrTMax:
			md.tmax = seconds(l.Value)
		case attrDMax:
			md.dmax = seconds(l.Value)
		case attrType:
			md.typ = l.Value
		case attrUnits:
			md.units = l.Value
		case attrGroup:
			md.group = l.Value
		case attrTitle:
			md.title = l.Value
		case attrDescription:
			md.description = l.Value
		case attrCluster:
			md.cluster = l.Value
		case attrIP:
			md.ip = l.Value
		default:
			if key, is := strings.CutPrefix(l.Name, attrExtra); is {
				md.extra = append(md.extra, core.Label{Name: key, Value: l.Value})
			}
		}
	}
	return md, ok
}

func seconds(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32) // what is no number was not written by attributes
	return uint32(n)
}

// identify returns what the series of a metric is called: ganglia/HOST/METRIC.
func identify(host, name []byte, md *metric) receivers.Identity {
	return receivers.Identity{
		Path: path(host, name),
		Labels: []core.Label{
			{Name: "host", Value: text(host)},
			{Name: "metric", Value: text(name)},
			{Name: attrUnits, Value: md.units},
			{Name: attrType, Value: md.typ},
			{Name: attrGroup, Value: md.group},
			{Name: attrTitle, Value: md.title},
			{Name: attrDescription, Value: md.description},
			{Name: attrCluster, Value: md.cluster},
			{Name: attrIP, Value: md.ip},
		},
	}
}

// prefix is the first component of every path.
const prefix = "ganglia/"

func path(host, name []byte) string {
	p := append(make([]byte, 0, 128), prefix...)
	p = receivers.AppendComponent(p, host)
	return string(receivers.AppendComponent(append(p, '/'), name))
}

// kind returns what a metric becomes: gmetad's table, and for what is not of a whole type the kinds
// that take doubles.
func (md *metric) kind() rra.Kind {
	whole := ParseType(md.typ).Integer()
	switch {
	case md.slope == Positive && whole:
		return rra.Counter
	case md.slope == Positive:
		return rra.DCounter
	case md.slope == Derivative && whole:
		return rra.Derive
	case md.slope == Derivative:
		return rra.DDerive
	}
	return rra.Gauge
}

// gmetad's archives since 3.3, as it makes them for one host's metric.
var archives = [...]rra.Archive{
	{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 5856},
	{CF: rra.Average, XFF: 0.5, PDPs: 4, Rows: 20160},
	{CF: rra.Average, XFF: 0.5, PDPs: 40, Rows: 52704},
}

const (
	source     = "sum" // the name of the data source
	deadSteps  = 8     // a heartbeat is that many steps,
	lostTimes  = 4     // or that many tmax
	gmetadStep = 15    // seconds
)

// define returns the definition of the series of a metric with the given step.
func (md *metric) define(step int64) *rra.Definition {
	return &rra.Definition{
		Step: step,
		Sources: []rra.DataSource{{
			Name: source, Kind: md.kind(), Heartbeat: max(lostTimes*int64(md.tmax), deadSteps*step),
			Min: math.NaN(), Max: math.NaN(),
		}},
		Archives: slices.Clone(archives[:]),
	}
}

// sourceKind returns the kind of the one data source of d that takes values. It reports whether
// there is one, and no more.
func sourceKind(d *rra.Definition) (k rra.Kind, ok bool) {
	n := 0
	for _, ds := range d.Sources {
		if ds.Kind != rra.Compute {
			k = ds.Kind
			n++
		}
	}
	return k, n == 1
}
