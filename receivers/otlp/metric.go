package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rondo-db/rondo/receivers/internal/protobuf"
)

// A mode is how the values of a series become samples.
type mode uint8

const (
	gauge   mode = iota // as they are
	counter             // they count up from zero, and may begin again
	delta               // what was counted since the last value
	balance             // the same of what may go down
	info                // always 1
	modes
)

// adds reports whether values say what was counted since the last one.
func (m mode) adds() bool { return m == delta || m == balance }

// A part says which of a metric's series a value is of.
type part struct {
	suffix string  // behind the name: "", "_sum", "_count", "_bucket"
	label  string  // "", "le" or "quantile"
	bound  float64 // the label's value
}

// The attributes of a resource that become the labels job and instance of all its series.
const (
	serviceName      = "service.name"
	serviceNamespace = "service.namespace"
	serviceInstance  = "service.instance.id"
	processPID       = "process.pid"
	processName      = "process.executable.name"
	hostName         = "host.name" // the instance if there is no other; a label of target_info too
	hostID           = "host.id"   // the same if there is no name
)

// A metricType is the number of the field of a metric that says what it is.
type metricType protowire.Number

const (
	typeGauge       metricType = 5
	typeSum         metricType = 7
	typeHistogram   metricType = 9
	typeExponential metricType = 10
	typeSummary     metricType = 11
)

// messages calls take for each message in the fields with a number, in order.
func messages(r protobuf.Reader, number int, take func(protobuf.Reader) error) error {
	for r.Next() {
		if !r.Is(number, protowire.BytesType) {
			continue
		}
		if m := r.Message("a message"); r.Err() == nil {
			r.Fail(take(m))
		}
	}
	return r.Err()
}
