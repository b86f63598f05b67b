package gmetric

import (
	"hash/maphash"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/internal/text"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/rra"
)

// A metric is the metadata of one metric, in texts that can be stored.
type metric struct {
	typ        string // as sent
	slope      Slope
	tmax, dmax uint32
	units      string

	group, title, description, cluster string

	ip    string       // of a spoofed host
	extra []core.Label // other pairs, in order of their names
}

const (
	defaultTMax = 60        // seconds; of a metric without metadata
	maxGroup    = maxString // bytes of all groups
	maxExtra    = 16        // further extra elements
	extraBytes  = 2 << 10   // bytes in them: all metadata stays below the 16 KB that the store takes
)

// metricOf returns the metadata in m. left is how many extra elements are left out because they
// are beyond the limits.
func metricOf(m *Message) (md metric, left int) {
	md = metric{
		typ: label(m.Type), slope: m.Slope, tmax: m.TMax, dmax: m.DMax,
		units: label(m.Units), ip: label(m.IP),
	}
	size := 0
	for _, p := range m.Extra {
		value := label(p.Value)
		switch key := label(p.Key); key {
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
		case "SPOOF_HOST", "SPOOF_HEARTBEAT": // the name of the host says this already
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

func (md *metric) setExtra(key, value string) {
	i, found := slices.BinarySearchFunc(md.extra, key, func(l core.Label, key string) int { return strings.Compare(l.Name, key) })
	if found {
		md.extra[i].Value = value
		return
	}
	md.extra = slices.Insert(md.extra, i, core.Label{Name: key, Value: value})
}

// label returns b as a text that a label may have. Replacing bytes that are not UTF-8 may make it
// longer than maxString, so it is cut.
func label(b []byte) string {
	return text.Cut(strings.ReplaceAll(receivers.Text(b), "\x00", "_"), maxString)
}

// defaultMetric returns the metadata that is assumed if none comes for a value of message w.
func defaultMetric(w Word) metric {
	var t Type
	if w.Value() {
		t = [...]Type{Uint16, Int16, Int32, Uint32, Unknown, Float, Double}[w-WordUshort]
	}
	return metric{typ: t.String(), slope: Both, tmax: defaultTMax}
}

// sum returns a hash of the metadata in m, without host and name. It is never 0.
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

// mix returns a hash of the hashes h and p: the halves of a product with 2⁶⁴ over the golden ratio.
func mix(h, p uint64) uint64 {
	hi, lo := bits.Mul64(h^p, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// A metricText is a text of a metric, and the name of the attribute and the label that it is.
type metricText struct {
	name string
	text *string
}

func (md *metric) texts() [7]metricText {
	return [...]metricText{
		{"units", &md.units},
		{"type", &md.typ},
		{"group", &md.group},
		{"title", &md.title},
		{"description", &md.description},
		{"cluster", &md.cluster},
		{"ip", &md.ip},
	}
}

// The names of the other attributes under which the metadata of a metric is stored.
const (
	attrSlope = "slope"
	attrTMax  = "tmax"
	attrDMax  = "dmax"
	attrExtra = "extra." // and the key
	// attrExpiry set to expiryDelete has the server delete a series that has expired.
	attrExpiry   = receivers.AttributeOnExpiry
	expiryDelete = receivers.ExpireDelete
)

// attributes returns md as attributes, in order of their names. With remove they include the one
// that makes the server delete the series when it expires.
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
	for _, t := range md.texts() {
		if *t.text != "" {
			ls = append(ls, core.Label{Name: t.name, Value: *t.text})
		}
	}
	for _, l := range md.extra {
		ls = append(ls, core.Label{Name: attrExtra + l.Name, Value: l.Value})
	}
	slices.SortFunc(ls, func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return ls
}

// parseAttributes is the reverse of attributes. ok reports whether ls are the attributes of a
// metric.
func parseAttributes(ls []core.Label) (md metric, ok bool) {
	for _, l := range ls {
		switch l.Name {
		case attrSlope:
			md.slope, ok = ParseSlope(l.Value)
		case attrTMax:
			md.tmax = seconds(l.Value)
		case attrDMax:
			md.dmax = seconds(l.Value)
		default:
			for _, t := range md.texts() {
				if t.name == l.Name {
					*t.text = l.Value
				}
			}
			if key, is := strings.CutPrefix(l.Name, attrExtra); is {
				md.extra = append(md.extra, core.Label{Name: key, Value: l.Value})
			}
		}
	}
	return md, ok
}

func seconds(s string) uint32 {
	n, _ := strconv.ParseUint(s, 10, 32) // attributes writes nothing but numbers here
	return uint32(n)
}

// identify returns the path of the series of a metric, ganglia/HOST/METRIC, and its labels.
func identify(host, name []byte, md *metric) receivers.Identity {
	id := receivers.Identity{
		Path: path(host, name), Labels: []core.Label{{Name: "host", Value: label(host)}, {Name: "metric", Value: label(name)}},
	}
	for _, t := range md.texts() {
		id.Labels = append(id.Labels, core.Label{Name: t.name, Value: *t.text})
	}
	return id
}

// prefix is the first component of every path.
const prefix = "ganglia/"

func path(host, name []byte) string {
	return pathname.Join(strings.TrimSuffix(prefix, "/"), string(host), string(name))
}

// kind returns the kind of a metric's data source. It is gmetad's table, except that types that are
// not integers get the kinds that take doubles.
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

// archives are those that gmetad makes since 3.3 for the metric of one host.
var archives = [...]rra.Archive{
	{CF: rra.Average, XFF: 0.5, PDPs: 1, Rows: 5856},
	{CF: rra.Average, XFF: 0.5, PDPs: 4, Rows: 20160},
	{CF: rra.Average, XFF: 0.5, PDPs: 40, Rows: 52704},
}

const (
	source     = "sum" // the name of the data source
	deadSteps  = 8     // the heartbeat is so many steps,
	lostTimes  = 4     // or so many tmax if that is longer
	gmetadStep = 15    // gmetad's step in seconds
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
