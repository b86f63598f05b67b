package statsd

import (
	"bytes"
	"math"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/decimal"
)

// A Type is what a metric measures.
type Type uint8

// The types.
const (
	Counter Type = iota // c
	Gauge               // g
	Timer               // ms, h, d
	Set                 // s
	types
)

var typeNames = [types]string{"counters", "gauges", "timers", "sets"}

// String returns the name of the folder of its series, as statsd calls them.
func (t Type) String() string { return typeNames[t] }

// A Reading is one value of one metric. Its texts point into the line.
type Reading struct {
	Name   []byte // with the tags that stand in it
	Tags   []byte // DogStatsD's, without the #
	Type   Type
	Value  float64 // of all but sets
	Delta  bool    // of a gauge: Value is to be added
	Rate   float64 // which part of the readings is sent: above 0, at most 1
	Member []byte  // of a set
}

const (
	// MaxName is the length of the longest name with its tags, in bytes.
	MaxName = 2048
	// MaxLine is the length of the longest line, in bytes.
	MaxLine = 8192
)

// The errors of a line.
var (
	errForm    = &receivers.Error{Reason: receivers.Malformed, What: "a line is no NAME:VALUE|TYPE"}
	errName    = &receivers.Error{Reason: receivers.Limit, What: "a name is longer than 2048 bytes"}
	errLong    = &receivers.Error{Reason: receivers.Limit, What: "a line is longer than 8192 bytes"}
	errType    = &receivers.Error{Reason: receivers.Unsupported, What: "a type is none of c, g, ms, h, d and s"}
	errValue   = &receivers.Error{Reason: receivers.Malformed, What: "a value is no number"}
	errUnknown = &receivers.Error{Reason: receivers.State, What: "a value is NaN or infinite"}
	errRate    = &receivers.Error{Reason: receivers.Malformed, What: "a sample rate is not above 0 and at most 1"}
	errEvent   = &receivers.Error{Reason: receivers.Unsupported, What: "events and service checks are no metrics"}
	errTime    = &receivers.Error{Reason: receivers.Unsupported, What: "a value has a time of its own"}
)

// ParseLine reads a line without its line feed, and calls take for each of its readings. Readings
// before an error are taken. The errors are shared: do not change them.
//
//	NAME:VALUE[:VALUE…]|TYPE[|@RATE][|#TAG,…][:VALUE|TYPE…]
func ParseLine(line []byte, take func(Reading)) *receivers.Error {
	if len(line) > MaxLine {
		return errLong
	}
	if bytes.HasPrefix(line, []byte("_e{")) || bytes.HasPrefix(line, []byte("_sc|")) {
		return errEvent
	}
	name, rest, ok := bytes.Cut(line, []byte{':'})
	if !ok || len(name) == 0 {
		return errForm
	}
	for more := true; more; {
		r := Reading{Name: name, Rate: 1}
		values, after, ok := bytes.Cut(rest, []byte{'|'})
		if !ok {
			return errForm
		}
		var err *receivers.Error
		if rest, more, err = r.fields(after); err != nil {
			return err
		}
		if len(name)+len(r.Tags) > MaxName {
			return errName
		}
		if err := r.values(values, take); err != nil {
			return err
		}
	}
	return nil
}

// fields reads what stands behind a value: its type, its rate, its tags. more says that a further
// value follows.
func (r *Reading) fields(text []byte) (rest []byte, more bool, err *receivers.Error) {
	word, rest, end := cut(text, "|:")
	switch string(word) {
	case "c":
		r.Type = Counter
	case "g":
		r.Type = Gauge
	case "ms", "h", "d":
		r.Type = Timer
	case "s":
		r.Type = Set
	default:
		return nil, false, errType
	}
	for end == '|' {
		switch {
		case len(rest) > 0 && rest[0] == '@':
			word, rest, end = cut(rest[1:], "|:")
			rate, ok := decimal.Parse(word)
			if !ok || !(rate > 0 && rate <= 1) {
				return nil, false, errRate
			}
			r.Rate = rate
		case len(rest) > 0 && rest[0] == '#':
			r.Tags, rest, end = cut(rest[1:], "|")
		case bytes.HasPrefix(rest, []byte("c:")), bytes.HasPrefix(rest, []byte("e:")), bytes.HasPrefix(rest, []byte("card:")):
			_, rest, end = cut(rest, "|") // where a value is from
		case len(rest) > 0 && rest[0] == 'T':
			return nil, false, errTime
		default:
			return nil, false, errForm
		}
	}
	return rest, end == ':', nil
}

// cut returns what stands before the first of the bytes in ends, what stands behind it, and this
// byte; 0: text has none of ends.
func cut(text []byte, ends string) (word, rest []byte, end byte) {
	i := bytes.IndexAny(text, ends)
	if i < 0 {
		return text, nil, 0
	}
	return text[:i], text[i+1:], text[i]
}

// values calls take for each of the values, with colons between them.
func (r *Reading) values(text []byte, take func(Reading)) *receivers.Error {
	if r.Type == Set {
		if len(text) == 0 {
			return errForm
		}
		r.Member = text
		take(*r)
		return nil
	}
	for more := true; more; {
		var value []byte
		value, text, more = bytes.Cut(text, []byte{':'})
		v, ok := decimal.Parse(value)
		switch {
		case !ok:
			return errValue
		case math.IsNaN(v) || math.IsInf(v, 0):
			return errUnknown
		}
		r.Value, r.Delta = v, r.Type == Gauge && (value[0] == '+' || value[0] == '-')
		take(*r)
	}
	return nil
}
