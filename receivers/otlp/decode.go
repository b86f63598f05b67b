package otlp

import (
	"encoding/binary"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

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
	return messages(b, 1, d.resourceMetrics)
}

// resourceMetrics reads ResourceMetrics: the resource first, wherever it stands.
func (d *decoder) resourceMetrics(b []byte) error {
	d.resource, d.newest, d.named, d.more = d.resource[:0], 0, false, false
	d.fresh++
	err := messages(b, 1, func(b []byte) error { return messages(b, 1, d.resourceAttribute) })
	if err != nil {
		return err
	}
	// ScopeMetrics, and their metrics.
	err = messages(b, 2, func(b []byte) error { return messages(b, 2, d.metric) })
	if err != nil || d.newest == 0 || !d.named || !d.more {
		return err
	}
	d.name, d.unit, d.typ, d.mode = append(d.name[:0], "target_info"...), d.unit[:0], typeGauge, info
	d.fresh++
	d.point = point{at: d.newest, attrs: d.point.attrs[:0]}
	return d.take(&part{}, info, 1)
}

func (d *decoder) resourceAttribute(kv []byte) error {
	d.resource = appendAttribute(d.resource, kv)
	return fields(kv, func(f field) error {
		if !f.is(1, protowire.BytesType) {
			return nil
		}
		switch string(f.bytes) {
		case serviceName, serviceInstance:
			d.named = true
		case hostName, hostID:
			d.named, d.more = true, true
		case serviceNamespace:
		default:
			d.more = true
		}
		return nil
	})
}

// appendAttribute appends a KeyValue with its length before it.
func appendAttribute(dst, kv []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(kv))), kv...)
}

// metric reads a Metric: its name first, wherever it stands.
func (d *decoder) metric(b []byte) error {
	d.name, d.help, d.unit = d.name[:0], d.help[:0], d.unit[:0]
	d.fresh++
	var data []byte
	d.typ = 0
	err := fields(b, func(f field) error {
		if f.typ != protowire.BytesType {
			return nil
		}
		switch f.num {
		case 1:
			d.name = append(d.name[:0], f.bytes...)
		case 2:
			d.help = append(d.help[:0], f.bytes...)
		case 3:
			d.unit = append(d.unit[:0], f.bytes...)
		case 5, 7, 9, 10, 11:
			d.typ, data = metricType(f.num), f.bytes
		}
		return nil
	})
	if err != nil || d.typ == 0 {
		return err
	}
	if err := d.kind(data); err != nil {
		return err
	}
	return messages(data, 1, func(b []byte) error {
		d.point = point{attrs: d.point.attrs[:0]}
		return d.dataPoint(b)
	})
}

// kind finds out the mode of the metric's values.
func (d *decoder) kind(data []byte) error {
	temporality, monotonic := uint64(0), false
	err := fields(data, func(f field) error {
		switch {
		case f.is(2, protowire.VarintType):
			temporality = f.n
		case f.is(3, protowire.VarintType):
			monotonic = f.n != 0
		}
		return nil
	})
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
	return err
}

func (d *decoder) dataPoint(b []byte) error {
	var err error
	switch d.typ {
	case typeGauge, typeSum:
		err = d.number(b)
	case typeHistogram:
		err = d.histogram(b)
	case typeExponential:
		err = d.exponential(b)
	case typeSummary:
		err = d.summary(b)
	default:
		d.skip("neither cumulative nor delta")
	}
	return err
}

// common reads the fields that all data points have. num is the number of the field with
// attributes, flags the number of the field with flags.
func (d *decoder) common(f *field, num, flags protowire.Number) {
	switch {
	case f.is(num, protowire.BytesType):
		d.point.attrs = appendAttribute(d.point.attrs, f.bytes)
	case f.is(2, protowire.Fixed64Type):
		d.point.start = timeOf(f.n)
	case f.is(3, protowire.Fixed64Type):
		d.point.at = timeOf(f.n)
	case f.is(flags, protowire.VarintType):
		d.point.unknown = f.n&flagNoValue != 0
	}
}

// timeOf returns a time that was sent in nanoseconds.
func timeOf(nanoseconds uint64) rra.Time { return rra.Time(nanoseconds / 1000) }

var errNoNumber = errors.New("a data point has no value")

// number reads a NumberDataPoint.
func (d *decoder) number(b []byte) error {
	v, ok := 0.0, false
	err := fields(b, func(f field) error {
		switch {
		case f.is(4, protowire.Fixed64Type):
			v, ok = f.double(), true
		case f.is(6, protowire.Fixed64Type):
			v, ok = float64(int64(f.n)), true
		default:
			d.common(&f, 7, 8)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !ok && !d.point.unknown {
		d.skip(errNoNumber.Error())
		return nil
	}
	return d.take(&part{}, d.mode, v)
}
