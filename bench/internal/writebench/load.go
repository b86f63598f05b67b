package writebench

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"google.golang.org/protobuf/encoding/protowire"
)

// interval is the time between two samples of a series, in milliseconds.
const interval = 10_000

// A request is one sample of each of some series. The message is made once; each round changes the
// values and times in it.
type request struct {
	message []byte
	ends    []int // of the series in it; each ends with its sample
	packed  []byte
}

// At the end of a series stand the value, a tag and the time.
const (
	timeBytes   = 6 // of the years 2004 to 2109
	valueBefore = 8 + 1 + timeBytes
)

// newRequests returns the requests of one round. Series belong to hosts of 100 each.
func newRequests(series, samples int, start int64) []*request {
	var all []*request
	for i := range series {
		if i%samples == 0 {
			all = append(all, new(request))
		}
		r := all[len(all)-1]
		one, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{
			Labels: []prompb.Label{
				{Name: "__name__", Value: fmt.Sprintf("node_load_%d", i%100)},
				{Name: "cluster", Value: "eu-west-1"},
				{Name: "device", Value: fmt.Sprintf("device%d", i%8)},
				{Name: "instance", Value: fmt.Sprintf("host-%d.example.com:9100", i/100)},
				{Name: "job", Value: "node"},
			},
			Samples: []prompb.Sample{{Value: 1, Timestamp: start}},
		}}}).Marshal()
		if err != nil {
			panic(err) // it has room
		}
		r.message = append(r.message, one...)
		r.ends = append(r.ends, len(r.message))
	}
	return all
}

// body returns the body of the request in a round. The first round is 0. The body is valid until
// the next call.
func (r *request) body(round int, start int64) []byte {
	var at [timeBytes]byte
	protowire.AppendVarint(at[:0], uint64(start+int64(round)*interval))
	for i, end := range r.ends {
		v := 1 + float64((round*7+i*13)%1000)/8
		binary.LittleEndian.PutUint64(r.message[end-valueBefore:], math.Float64bits(v))
		copy(r.message[end-timeBytes:], at[:])
	}
	r.packed = snappy.Encode(r.packed[:cap(r.packed)], r.message)
	return r.packed
}
