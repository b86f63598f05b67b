package otlp

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/otlptranslator"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/pathname"
	"github.com/rondo-db/rondo/receivers/internal/protobuf"
)

// What names may have at most.
const (
	MaxAttributes = 128  // of a resource, or of a data point
	MaxName       = 512  // bytes of a metric's name or unit, or of an attribute's name
	MaxValue      = 1024 // bytes of an attribute's value
	maxBuckets    = 1024
	maxDepth      = 8 // of arrays and lists in a value
)

var (
	errNameless   = errors.New("a metric has no name")
	errNameLong   = errors.New("a name is too long")
	errAttributes = errors.New("too many attributes")
	errValueLong  = errors.New("the value of an attribute is too long")
	errDeep       = errors.New("the value of an attribute is too deep")
)

// prefix is the first component of the paths of series.
const prefix = "otlp"

// An attribute is a name and a value as text.
type attribute struct {
	*attributeName
	value string
}

// An attributeName is the name of an attribute.
type attributeName struct {
	name    string
	label   string // Prometheus' form of it
	foreign bool   // the label lacks what distinguishes the name
}

// A nameTable keeps the names of attributes: a program has few.
type nameTable map[string]*attributeName

// maxNames is how many names a nameTable keeps; then it forgets all.
const maxNames = 1024

func (t nameTable) of(b []byte) *attributeName {
	if n := t[string(b)]; n != nil {
		return n
	}
	n := &attributeName{name: receivers.Text(b)}
	n.foreign = foreign(n.name)
	var err error
	namer := otlptranslator.LabelNamer{}
	if n.label, err = namer.Build(n.name); err != nil {
		n.label = receivers.LabelText(n.name) // nothing of the name is left
	}
	if strings.HasPrefix(n.label, "__") {
		n.label = "key" + n.label // reserved
	}
	if len(t) >= maxNames {
		clear(t)
	}
	t[string(b)] = n
	return n
}

// attributes reads attributes as appendAttribute has written them.
func (t nameTable) attributes(b []byte) ([]attribute, error) {
	as := make([]attribute, 0, 8)
	for count := 0; len(b) > 0; count++ {
		n, used := binary.Uvarint(b)
		kv := b[used:][:n]
		b = b[used+int(n):]
		if count == MaxAttributes {
			return nil, errAttributes
		}
		name, v, err := attributeOf(protobuf.Reader{B: kv}, 0)
		if err != nil {
			return nil, err
		}
		value, err := textOf(v)
		switch {
		case err != nil:
			return nil, err
		case len(name) > MaxName:
			return nil, errNameLong
		case len(value) > MaxValue:
			return nil, errValueLong
		case len(name) > 0 && value != "":
			as = append(as, attribute{t.of(name), value})
		}
	}
	return as, nil
}

// attributeOf reads a KeyValue.
func attributeOf(r protobuf.Reader, depth int) (name []byte, v any, err error) {
	for r.Next() {
		switch {
		case r.Is(1, protowire.BytesType):
			name = r.Bytes("the name of an attribute")
		case r.Is(2, protowire.BytesType):
			v, err = anyValue(r.Message("the value of an attribute"), depth)
			r.Fail(err)
		}
	}
	return name, v, r.Err()
}

// anyValue reads an AnyValue: a text, a truth value, a number, or a list of these.
func anyValue(r protobuf.Reader, depth int) (v any, err error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	const what = "the value of an attribute"
	for r.Next() {
		switch {
		case r.Is(1, protowire.BytesType):
			v = string(r.Bytes(what))
		case r.Is(2, protowire.VarintType):
			v = r.Uint(what) != 0
		case r.Is(3, protowire.VarintType):
			v = int64(r.Uint(what))
		case r.Is(4, protowire.Fixed64Type):
			v = r.Double(what)
		case r.Is(5, protowire.BytesType):
			v, err = array(r.Message(what), depth+1)
		case r.Is(6, protowire.BytesType):
			v, err = object(r.Message(what), depth+1)
		case r.Is(7, protowire.BytesType):
			v = r.Bytes(what) // base64 in JSON
		}
		r.Fail(err)
	}
	return v, r.Err()
}

func array(r protobuf.Reader, depth int) (any, error) {
	list := []any{}
	err := messages(r, 1, func(r protobuf.Reader) error {
		v, err := anyValue(r, depth)
		list = append(list, number(v))
		return err
	})
	return list, err
}

func object(r protobuf.Reader, depth int) (any, error) {
	m := make(map[string]any)
	err := messages(r, 1, func(r protobuf.Reader) error {
		name, v, err := attributeOf(r, depth)
		m[receivers.Text(name)] = number(v)
		return err
	})
	return m, err
}

// number returns v, as a text if it is a number that JSON does not have.
func number(v any) any {
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return formatFloat(f)
	}
	return v
}

// textOf returns a value as a label holds it: lists are JSON.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return formatFloat(v), nil
	}
	b, err := json.Marshal(v)
	return strings.Trim(string(b), `"`), err
}

// formatFloat returns a number as Prometheus writes it in labels.
func formatFloat(f float64) string {
	if math.IsInf(f, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// An origin is what the attributes of a resource say of its series.
type origin struct {
	job, instance string
	host          string      // the machine; empty: none is named
	others        []attribute // those that do not name the service
	process       []attribute // labels of all series, if it is a process and no service
}

// originOf returns the origin with attributes. Where it has no instance, its machine is the
// instance, so that the machines of a service do not share series. Where it is a process and no
// service, its name and number are labels, so that the processes of a machine do not share series.
func originOf(attrs []attribute) *origin {
	o, id := new(origin), ""
	for _, a := range attrs {
		switch a.name {
		case serviceName:
			o.job += a.value
			continue
		case serviceNamespace:
			o.job = a.value + "/" + o.job
			continue
		case serviceInstance:
			o.instance = a.value
			continue
		case hostName:
			o.host = a.value
		case hostID:
			id = a.value
		case processPID, processName:
			o.process = append(o.process, a)
		}
		o.others = append(o.others, a)
	}
	if o.job+o.instance != "" {
		o.process = nil
	}
	o.instance = cmp.Or(o.instance, o.host, id)
	o.job = strings.TrimSuffix(o.job, "/") // a namespace alone
	return o
}

// identify returns the path of a series, otlp/JOB/INSTANCE/NAME{LABELS}, and its labels: __name__,
// job and instance, the attributes of the data point, and le or quantile. Names are those that
// Prometheus gives.
//
// Prometheus' names have no letters outside ASCII. Where sent has such letters, it is the label
// raw_name, so that names that differ are not one series.
func (o *origin) identify(attrs []attribute, name, sent string, p *part, withResource bool) receivers.Identity {
	attrs = append(attrs, o.process...)
	ls := append(make([]core.Label, 0, 5+len(attrs)), core.Label{Name: "__name__", Value: name + p.suffix})
	add := func(name, value string) {
		if value != "" {
			ls = append(ls, core.Label{Name: name, Value: receivers.LabelValue(value)})
		}
	}
	add("job", o.job)
	add("instance", o.instance)
	if p.label != "" {
		add(p.label, formatFloat(p.bound))
	}
	if foreign(sent) {
		add(rawName, sent)
	}
	own := len(ls)
	if withResource {
		attrs = slices.Clone(o.others)
	}
	slices.SortStableFunc(attrs, func(a, b attribute) int { return strings.Compare(a.name, b.name) })
	for _, a := range attrs {
		addAttribute(&ls, own, a)
	}
	slices.SortFunc(ls[1:], func(a, b core.Label) int { return strings.Compare(a.Name, b.Name) })
	return receivers.Identity{Path: path(o.job, o.instance, ls, attrs), Labels: ls}
}

// rawName is the label with the name of a metric as it was sent.
const rawName = "raw_name"

// foreign reports whether Prometheus' form of a name lacks what distinguishes it from others:
// letters outside ASCII, or all of it.
func foreign(name string) bool {
	some := false
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf {
			return true
		}
		some = some || c-'0' <= 9 || (c|0x20)-'a' <= 'z'-'a'
	}
	return !some
}

// addAttribute adds the label of an attribute. The first own labels stay as they are. Values of
// attributes whose names become the same are joined.
func addAttribute(ls *[]core.Label, own int, a attribute) {
	value := receivers.LabelValue(a.value)
	switch i := slices.IndexFunc(*ls, func(l core.Label) bool { return l.Name == a.label }); {
	case i < 0:
		*ls = append(*ls, core.Label{Name: a.label, Value: value})
	case i >= own:
		(*ls)[i].Value += ";" + value
	}
}

// path returns the path of the series with labels, which are made of attributes.
func path(job, instance string, ls []core.Label, attrs []attribute) string {
	p := pathname.New(prefix)
	for _, a := range attrs {
		if a.foreign || !utf8.ValidString(a.value) {
			p.Mix(a.name, a.value)
			p.Blur()
		}
	}
	p.Add(job)
	p.Add(instance)
	b := append(make([]byte, 0, 256), ls[0].Value...)
	sep := byte('{')
	for _, l := range ls[1:] {
		p.Mix(l.Name, l.Value)
		if l.Name == "job" || l.Name == "instance" {
			continue
		}
		b = append(append(append(b, sep), l.Name...), '=')
		b = strconv.AppendQuote(b, l.Value)
		sep = ','
	}
	if sep == ',' {
		b = append(b, '}')
	}
	p.Add(string(b))
	return p.String()
}

// metricName returns the name that Prometheus gives a metric.
func metricName(name, unit string, t metricType, m mode) (string, error) {
	switch {
	case name == "":
		return "", errNameless
	case len(name) > MaxName || len(unit) > MaxName:
		return "", errNameLong
	case m == info:
		return name, nil
	}
	var typ otlptranslator.MetricType = otlptranslator.MetricTypeGauge
	switch {
	case t == typeHistogram:
		typ = otlptranslator.MetricTypeHistogram
	case t == typeExponential:
		typ = otlptranslator.MetricTypeExponentialHistogram
	case t == typeSummary:
		typ = otlptranslator.MetricTypeSummary
	case m == counter || m == delta:
		typ = otlptranslator.MetricTypeMonotonicCounter
	case t == typeSum:
		typ = otlptranslator.MetricTypeNonMonotonicCounter
	}
	namer := otlptranslator.MetricNamer{WithMetricSuffixes: true}
	made, err := namer.Build(otlptranslator.Metric{Name: name, Unit: unit, Type: typ})
	if err != nil && foreign(name) {
		return "_", nil // nothing of it is left
	}
	return made, err
}
