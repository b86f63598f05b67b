package otlp

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers/internal/protobuf"
	"github.com/rondo-db/rondo/rra"
)

// A point is a data point whose series is looked for.
type point struct {
	at, start rra.Time // start 0: not given
	unknown   bool     // there is no value
	attrs     []byte   // its attributes, each with its length before it
}

// A decoder walks through a request.
type decoder struct {
	take func(p *part, m mode, v float64) error // is called for each value
	skip func(what string)                      // is called for each data point that is left out
	warn func(what string)                      // is called for what is not stored of a data point

	resource []byte // the attributes of the resource, each with its length before it
	named    bool   // one of them names the service, its instance or its machine,
	more     bool   // and one is something else
	name     []byte // of the metric
	help     []byte // what describes it
	unit     []byte
	typ      metricType
	mode     mode
	point    point
	bounds   []uint64 // of a histogram
	counts   []uint64
	newest   rra.Time // of the data points of the resource
	fresh    int      // counts resources and metrics: what was made of the last one is old
}

const (
	temporalityDelta      = 1
	temporalityCumulative = 2
	flagNoValue           = 1
)

// request reads an ExportMetricsServiceRequest.
func (d *decoder) request(b []byte) error {
	return messages(protobuf.Reader{B: b}, 1, d.resourceMetrics)
}

// resourceMetrics reads ResourceMetrics: the resource first, wherever it stands.
func (d *decoder) resourceMetrics(r protobuf.Reader) error {
	d.resource, d.newest, d.named, d.more = d.resource[:0], 0, false, false
	d.fresh++
	err := messages(r, 1, func(r protobuf.Reader) error { return messages(r, 1, d.resourceAttribute) })
	if err != nil {
		return err
	}
	// ScopeMetrics, and their metrics.
	err = messages(r, 2, func(r protobuf.Reader) error { return messages(r, 2, d.metric) })
	if err != nil || d.newest == 0 || !d.named || !d.more {
		return err
	}
	d.name, d.unit, d.typ, d.mode = append(d.name[:0], "target_info"...), d.unit[:0], typeGauge, info
	d.fresh++
	d.point = point{at: d.newest, attrs: d.point.attrs[:0]}
	return d.take(&part{}, info, 1)
}

func (d *decoder) resourceAttribute(r protobuf.Reader) error {
	d.resource = appendAttribute(d.resource, r.B)
	for r.Next() {
		if !r.Is(1, protowire.BytesType) {
			continue
		}
		switch string(r.Bytes("the name of an attribute")) {
		case serviceName, serviceInstance:
			d.named = true
		case hostName, hostID:
			d.named, d.more = true, true
		case serviceNamespace:
		default:
			d.more = true
		}
	}
	return r.Err()
}

// appendAttribute appends a KeyValue with its length before it.
func appendAttribute(dst, kv []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(kv))), kv...)
}

// metric reads a Metric: its name first, wherever it stands.
func (d *decoder) metric(r protobuf.Reader) error {
	d.name, d.help, d.unit = d.name[:0], d.help[:0], d.unit[:0]
	d.fresh++
	var data protobuf.Reader
	d.typ = 0
	for r.Next() {
		if r.Kind != protowire.BytesType {
			continue
		}
		switch r.Number {
		case 1:
			d.name = append(d.name[:0], r.Bytes("the name of a metric")...)
		case 2:
			d.help = append(d.help[:0], r.Bytes("the description of a metric")...)
		case 3:
			d.unit = append(d.unit[:0], r.Bytes("the unit of a metric")...)
		case 5, 7, 9, 10, 11:
			d.typ, data = metricType(r.Number), r.Message("the data of a metric")
		}
	}
	if r.Err() != nil || d.typ == 0 {
		return r.Err()
	}
	if err := d.kind(data); err != nil {
		return err
	}
	return messages(data, 1, func(r protobuf.Reader) error {
		d.point = point{attrs: d.point.attrs[:0]}
		return d.dataPoint(r)
	})
}

// kind finds out the mode of the metric's values.
func (d *decoder) kind(data protobuf.Reader) error {
	temporality, monotonic := uint64(0), false
	for data.Next() {
		switch {
		case data.Is(2, protowire.VarintType):
			temporality = data.Uint("the temporality of a metric")
		case data.Is(3, protowire.VarintType):
			monotonic = data.Uint("whether a metric is monotonic") != 0
		}
	}
	if d.typ == typeHistogram || d.typ == typeExponential {
		monotonic = true
	}
	switch {
	case d.typ == typeGauge:
		d.mode = gauge
	case d.typ == typeSummary:
		d.mode = counter // its count and its sum
	case temporality == temporalityDelta && monotonic:
		d.mode = delta
	case temporality == temporalityDelta:
		d.mode = balance
	case monotonic:
		d.mode = counter
	default:
		d.mode = gauge
	}
	if d.typ != typeGauge && d.typ != typeSummary && temporality != temporalityDelta && temporality != temporalityCumulative {
		d.typ = -d.typ // every data point is left out
	}
	return data.Err()
}

func (d *decoder) dataPoint(r protobuf.Reader) error {
	switch d.typ {
	case typeGauge, typeSum:
		return d.number(r)
	case typeHistogram:
		return d.histogram(r)
	case typeExponential:
		return d.exponential(r)
	case typeSummary:
		return d.summary(r)
	}
	d.skip("neither cumulative nor delta")
	return nil
}

// common reads a field that all data points have. attributes and flags are the numbers of the
// fields with these.
func (d *decoder) common(r *protobuf.Reader, attributes, flags int) {
	switch {
	case r.Is(attributes, protowire.BytesType):
		d.point.attrs = appendAttribute(d.point.attrs, r.Bytes("an attribute"))
	case r.Is(2, protowire.Fixed64Type):
		d.point.start = timeOf(r.Fixed("the start of a data point"))
	case r.Is(3, protowire.Fixed64Type):
		d.point.at = timeOf(r.Fixed("the time of a data point"))
	case r.Is(flags, protowire.VarintType):
		d.point.unknown = r.Uint("the flags of a data point")&flagNoValue != 0
	}
}

// timeOf returns a time that was sent in nanoseconds.
func timeOf(nanoseconds uint64) rra.Time { return rra.Time(nanoseconds / 1000) }

// number reads a NumberDataPoint.
func (d *decoder) number(r protobuf.Reader) error {
	v, ok := 0.0, false
	for r.Next() {
		switch {
		case r.Is(4, protowire.Fixed64Type):
			v, ok = r.Double("the value of a data point"), true
		case r.Is(6, protowire.Fixed64Type):
			v, ok = float64(int64(r.Fixed("the value of a data point"))), true
		default:
			d.common(&r, 7, 8)
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	if !ok && !d.point.unknown {
		d.skip("a data point has no value")
		return nil
	}
	return d.take(&part{}, d.mode, v)
}
