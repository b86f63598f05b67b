package gmetric

import (
	"github.com/rondo-db/rondo/rra"
)

// A Word is the first word of a message and says what the message is. In the format of 3.0, 0 is a
// metric with its value, and 1 to 50 are values of metrics of gmond that have numbers (core
// metrics). The others are messages of 3.1 and later. They are part of the format.
type Word uint32

// The words.
const (
	WordGmetric  Word = 0
	WordCore     Word = 1   // the first core metric
	WordCoreLast Word = 50  // the last core metric
	WordMetadata Word = 128 // the description of a metric
	WordUshort   Word = 129 // a value, as are the next
	WordShort    Word = 130
	WordInt      Word = 131
	WordUint     Word = 132
	WordString   Word = 133
	WordFloat    Word = 134
	WordDouble   Word = 135 // the last value
	WordRequest  Word = 136 // one gmond asks others for metadata
)

// Old reports whether the message has the format of 3.0.
func (w Word) Old() bool { return w <= WordCoreLast }

// Core reports whether the message is the value of a core metric.
func (w Word) Core() bool { return w >= WordCore && w <= WordCoreLast }

// Value reports whether the message is a value whose metadata is in another message.
func (w Word) Value() bool { return w >= WordUshort && w <= WordDouble }

// maxString is the length of the longest string in bytes: Ganglia's longest datagram.
const maxString = 1472

// A Slope says how the values of a metric change.
type Slope uint8

// The slopes are part of the format.
const (
	Zero Slope = iota
	Positive
	Negative
	Both
	Unspecified
	Derivative
)

var slopeNames = [...]string{"zero", "positive", "negative", "both", "unspecified", "derivative"}

// String returns the slope as gmetric's option --slope names it.
func (s Slope) String() string {
	if int(s) >= len(slopeNames) {
		return "slope"
	}
	return slopeNames[s]
}

// ParseSlope reads what String writes.
func ParseSlope[T string | []byte](text T) (Slope, bool) {
	for i, name := range slopeNames {
		if string(text) == name {
			return Slope(i), true
		}
	}
	return 0, false
}

// A Type is the type of a metric.
type Type uint8

// The types. Unknown is the empty type, and any that has no constant here.
const (
	Unknown Type = iota
	String
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Float
	Double
)

var typeNames = [...]string{"", "string", "int8", "uint8", "int16", "uint16", "int32", "uint32", "float", "double"}

// String returns the type as gmetric's option --type names it.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return ""
	}
	return typeNames[t]
}

// Integer reports whether values of the type are whole numbers.
func (t Type) Integer() bool { return t >= Int8 && t <= Uint32 }

// ParseType returns the type called text, or Unknown.
func ParseType[T string | []byte](text T) Type {
	for i, name := range typeNames {
		if string(text) == name {
			return Type(i)
		}
	}
	return Unknown
}

// A Message is one datagram. Its Word says which fields are in use.
type Message struct {
	Word Word

	// Of 3.1 and later. If Spoof is true, the sender speaks for another host, and Host is
	// "IP:NAME": IP and HostName are its parts. Otherwise HostName is Host.
	Host         []byte
	Spoof        bool
	IP, HostName []byte

	// Name is the metric's name, of all messages. A core metric's name follows from its number.
	Name []byte

	// Of WordGmetric, WordMetadata and core metrics.
	Type       []byte
	Units      []byte
	Slope      Slope
	TMax, DMax uint32 // seconds

	// Of WordMetadata.
	Name2 []byte // the name again
	Extra []Pair

	// Of values: the format with which to print them.
	Format []byte

	// Text is the value of WordGmetric, of WordString, and of core metrics that are strings. Number
	// is the value of the others: an integer or a double. A float is widened to a double.
	Text   []byte
	Number rra.Value

	described []byte // the bytes of the metadata, to be hashed
}

// A Pair is one extra element of metadata.
type Pair struct{ Key, Value []byte }

// coreSlope returns the slope of core metric k.
func coreSlope(k Word) Slope {
	if k <= 9 || k == 25 {
		return Zero
	}
	return Both
}

// A coreMetric describes a metric that has a number.
type coreMetric struct {
	name  string
	typ   Type
	wire  Word // the message of 3.1 that has a value in the same encoding
	units string
	tmax  uint32 // seconds
}

// coreMetrics are the core metrics of Ganglia 2.5 to 3.0, by number. They are part of the format.
var coreMetrics = [...]coreMetric{
	1:  {"cpu_num", Uint16, WordUshort, "CPUs", 1200},
	2:  {"cpu_speed", Uint32, WordUint, "MHz", 1200},
	3:  {"mem_total", Uint32, WordUint, "KB", 1200},
	4:  {"swap_total", Uint32, WordUint, "KB", 1200},
	5:  {"boottime", Uint32, WordUint, "s", 1200},
	6:  {"sys_clock", Uint32, WordUint, "s", 1200},
	7:  {"machine_type", String, WordString, "", 1200},
	8:  {"os_name", String, WordString, "", 1200},
	9:  {"os_release", String, WordString, "", 1200},
	10: {"cpu_user", Float, WordFloat, "%", 90},
	11: {"cpu_nice", Float, WordFloat, "%", 90},
	12: {"cpu_system", Float, WordFloat, "%", 90},
	13: {"cpu_idle", Float, WordFloat, "%", 90},
	14: {"cpu_aidle", Float, WordFloat, "%", 3800},
	15: {"load_one", Float, WordFloat, "", 70},
	16: {"load_five", Float, WordFloat, "", 325},
	17: {"load_fifteen", Float, WordFloat, "", 950},
	18: {"proc_run", Uint32, WordUint, "", 950},
	19: {"proc_total", Uint32, WordUint, "", 950},
	20: {"mem_free", Uint32, WordUint, "KB", 180},
	21: {"mem_shared", Uint32, WordUint, "KB", 180},
	22: {"mem_buffers", Uint32, WordUint, "KB", 180},
	23: {"mem_cached", Uint32, WordUint, "KB", 180},
	24: {"swap_free", Uint32, WordUint, "KB", 180},
	25: {"gexec", String, WordString, "", 300},
	26: {heartbeat, Uint32, WordUint, "", 20},
	27: {"mtu", Uint32, WordUint, "", 1200},
	28: {"location", String, WordString, "", 1200},
	29: {"bytes_out", Float, WordFloat, "bytes/sec", 300},
	30: {"bytes_in", Float, WordFloat, "bytes/sec", 300},
	31: {"pkts_in", Float, WordFloat, "packets/sec", 300},
	32: {"pkts_out", Float, WordFloat, "packets/sec", 300},
	33: {"disk_total", Double, WordDouble, "GB", 1200},
	34: {"disk_free", Double, WordDouble, "GB", 180},
	35: {"part_max_used", Float, WordFloat, "%", 180},
	36: {"cpu_wio", Float, WordFloat, "%", 90},
	37: {"bread_sec", Float, WordFloat, "", 90},
	38: {"bwrite_sec", Float, WordFloat, "", 90},
	39: {"lread_sec", Float, WordFloat, "", 90},
	40: {"lwrite_sec", Float, WordFloat, "", 90},
	41: {"rcache", Float, WordFloat, "%", 90},
	42: {"wcache", Float, WordFloat, "%", 90},
	43: {"phread_sec", Float, WordFloat, "", 90},
	44: {"phwrite_sec", Float, WordFloat, "", 90},
	45: {"cpu_intr", Float, WordFloat, "%", 90},
	46: {"cpu_sintr", Float, WordFloat, "%", 90},
	47: {"mem_arm", Uint32, WordUint, "KB", 180},
	48: {"mem_rm", Uint32, WordUint, "KB", 180},
	49: {"mem_avm", Uint32, WordUint, "KB", 180},
	50: {"mem_vm", Uint32, WordUint, "KB", 180},
}

// heartbeat is a metric that only says that its host is alive.
const heartbeat = "heartbeat"

// coreTexts are the names, types and units of core metrics, as a Message holds them.
var coreTexts = func() (ts [WordCoreLast + 1]struct{ name, typ, units []byte }) {
	for k := WordCore; k <= WordCoreLast; k++ {
		c := &coreMetrics[k]
		ts[k].name, ts[k].typ, ts[k].units = []byte(c.name), []byte(c.typ.String()), []byte(c.units)
	}
	return ts
}()
