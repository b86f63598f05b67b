package collectd

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/rra"
)

// The types of the parts of a packet. They are part of the format, as are the constants below.
const (
	partHost           = 0x0000
	partTime           = 0x0001
	partPlugin         = 0x0002
	partPluginInstance = 0x0003
	partType           = 0x0004
	partTypeInstance   = 0x0005
	partValues         = 0x0006
	partInterval       = 0x0007
	partTimeHR         = 0x0008
	partIntervalHR     = 0x0009
	partMessage        = 0x0100
	partSeverity       = 0x0101
	partSignature      = 0x0200
	partEncryption     = 0x0210
)

const (
	partHeader    = 4  // bytes of the type and the length of a part
	valuesHeader  = 6  // partHeader and the number of values
	valueBytes    = 9  // bytes of a value: its kind and 8 bytes
	numberPart    = 12 // bytes of a part that holds a number
	macBytes      = 32
	ivBytes       = 16
	checksumBytes = 20
	signHeader    = partHeader + macBytes                    // before the user's name
	cryptHeader   = partHeader + 2 + ivBytes + checksumBytes // without the user's name
	nameBytes     = 127                                      // longest name
	messageBytes  = 255                                      // longest text of a notification
	maxSeconds    = 1 << 34                                  // of a time in whole seconds
	maxNesting    = 4                                        // nested signatures and encryptions
	tenSeconds    = Stamp(10 << 30)                          // the interval if none is given
)

// The kinds of values on the wire.
const (
	KindCounter byte = iota
	KindGauge
	KindDerive
	KindAbsolute
)

// A Stamp is a time since 1970, or a span of time, in units of 2^-30 seconds.
type Stamp uint64

// Seconds returns s in whole seconds, rounded half up, as collectd's rrdtool plugin does.
func (s Stamp) Seconds() int64 { return int64((s>>29 + 1) >> 1) }

// Time returns s cut to microseconds.
func (s Stamp) Time() rra.Time {
	return rra.Time(uint64(s>>30)*1e6 + uint64(s&(1<<30-1))*1e6>>30)
}

// StampOf returns t, rounded up to 2^-30 seconds so that Time gives t back.
func StampOf(t rra.Time) Stamp {
	return Stamp(uint64(t.Unix())<<30 + (uint64(t.Micro())<<30+999_999)/1e6)
}

// Names say what a value list or a notification is about.
type Names struct {
	Host, Plugin, PluginInstance, Type, TypeInstance []byte
}

// all returns the names in their order in a key: see parts.
func (n *Names) all() [5]*[]byte {
	return [...]*[]byte{&n.TypeInstance, &n.Type, &n.PluginInstance, &n.Plugin, &n.Host}
}

// A ValueList is what a plugin has read at one time: one value for each data source of a type.
type ValueList struct {
	Names

	Time     Stamp
	Interval Stamp // 0: not given, which means 10 s

	Kinds []byte // one for each value
	Raw   []byte // 8 bytes for each value, as on the wire

	changed parts // names that have been set since the list before
}

// Len returns the number of values.
func (v *ValueList) Len() int { return len(v.Kinds) }

// Value returns value i. A gauge that is not finite is unknown.
func (v *ValueList) Value(i int) rra.Value {
	b := v.Raw[8*i:][:8]
	switch v.Kinds[i] {
	case KindGauge:
		bits := binary.LittleEndian.Uint64(b)
		if bits&infinity == infinity {
			return rra.Unknown
		}
		return rra.Value{Bits: bits, Tag: rra.TagFloat}
	case KindDerive:
		return rra.Value{Bits: binary.BigEndian.Uint64(b), Tag: rra.TagInt}
	default:
		return rra.Value{Bits: binary.BigEndian.Uint64(b), Tag: rra.TagUint}
	}
}

// infinity are the bits of the exponent of infinities and NaNs.
const infinity = 0x7ff0000000000000

// AddGauge appends a value.
func (v *ValueList) AddGauge(x float64) {
	v.Kinds = append(v.Kinds, KindGauge)
	v.Raw = binary.LittleEndian.AppendUint64(v.Raw, math.Float64bits(x))
}

// AddDerive appends a value.
func (v *ValueList) AddDerive(x int64) { v.add(KindDerive, uint64(x)) }

func (v *ValueList) add(kind byte, x uint64) {
	v.Kinds = append(v.Kinds, kind)
	v.Raw = binary.BigEndian.AppendUint64(v.Raw, x)
}

// Clone returns a copy that shares no memory with v.
func (v *ValueList) Clone() ValueList {
	c := *v
	c.Kinds, c.Raw = bytes.Clone(c.Kinds), bytes.Clone(c.Raw)
	for _, name := range c.all() {
		*name = bytes.Clone(*name)
	}
	return c
}

// kinds are the kinds of data sources, and kindNames their names, by the kind of value on the wire.
var (
	kinds     = [...]rra.Kind{KindCounter: rra.Counter, KindGauge: rra.Gauge, KindDerive: rra.Derive, KindAbsolute: rra.Absolute}
	kindNames = [len(kinds)]string{"counter", "gauge", "derive", "absolute"}
)

// ParseKind parses the name of a value's kind on the wire.
func ParseKind(s string) (byte, error) {
	if k := slices.Index(kindNames[:], strings.ToLower(s)); k >= 0 {
		return byte(k), nil
	}
	return 0, fmt.Errorf("kind %q is not counter, gauge, derive or absolute", s)
}

// A Severity says how bad the event of a notification is.
type Severity uint64

// The severities.
const (
	Failure Severity = 1
	Warning Severity = 2
	Okay    Severity = 4
)

var severities = map[Severity]string{Failure: "failure", Warning: "warning", Okay: "okay"}

// String returns the severity as a word.
func (s Severity) String() string {
	if word, ok := severities[s]; ok {
		return word
	}
	return "severity " + strconv.FormatUint(uint64(s), 10)
}

// A Notification is an event, described by a text.
type Notification struct {
	Names

	Time     Stamp
	Severity Severity
	Message  []byte
}

// parts is a set of names of a value list.
type parts uint8

// The names, in their order in a key, which the kinds follow. The names that change most come
// first.
const (
	ofTypeInstance parts = 1 << iota
	ofType
	ofPluginInstance
	ofPlugin
	ofHost
	ofFirst // not a name: the list is the first of its packet

	ofAll   = ofFirst - 1
	unknown = ofFirst | ofAll // it is not known yet how two entries differ
)
