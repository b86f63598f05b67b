package mono

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Version is the version of the protocol that a hello names.
const Version = 1

// The limits of messages.
const (
	MaxText     = 1024 // bytes of a string
	MaxCounters = 4096 // in a hello
	MaxValues   = 4096 // in a sample
	MaxPairs    = 4096 // in a list
)

// The commands that an agent sends. They are part of the format.
const (
	cmdHello = iota
	cmdList
	cmdAdd
	cmdRemove
	cmdSample
)

// nullText is the length that stands for a null string.
const nullText = -1

// A Category says which part of a runtime a counter belongs to.
type Category int32

// The categories of the last version of the agent.
const (
	JIT Category = iota
	GC
	Metadata
	Generics
	Security
	Thread
	ThreadPool
	System
	Custom
)

var categoryNames = [...]string{
	"Mono JIT", "Mono GC", "Mono Metadata", "Mono Generics", "Mono Security", "Mono Thread", "Mono ThreadPool", "Mono System",
	"Mono Custom",
}

// String returns the name of c, or category-N if it has no name.
func (c Category) String() string { return nameOf(categoryNames[:], int32(c), "category-") }

// ParseCategory returns the category of a name.
func ParseCategory(name string) (Category, bool) {
	for i, n := range categoryNames {
		if n == name {
			return Category(i), true
		}
	}
	return 0, false
}

// A Type is how a counter's values are sent.
type Type int32

// The types.
const (
	Int    Type = iota // 4 bytes, signed
	Long               // 8 bytes, signed
	Word               // 4 or 8 bytes, signed
	Double             // 8 bytes, IEEE 754
)

var typeNames = [...]string{"int", "long", "word", "double"}

func (t Type) String() string { return nameOf(typeNames[:], int32(t), "type-") }

// takes reports whether an agent may send a value of t in size bytes.
func (t Type) takes(size int) bool {
	return size == 8 && t != Int || size == 4 && (t == Int || t == Word)
}

// size returns in how many bytes rondo writes a value of t.
func (t Type) size() int {
	if t == Int {
		return 4
	}
	return 8
}

// A Unit is what a counter's values count.
type Unit int32

// The units.
const (
	NoUnit Unit = iota
	Bytes
	Time // of 100 ns
	Events
	Config
	Percentage
)

var unitNames = [...]string{"none", "bytes", "100ns", "events", "config", "percentage"}

// String returns the name of u, or unit-N if it has no name. The name of Time is 100ns.
func (u Unit) String() string { return nameOf(unitNames[:], int32(u), "unit-") }

// A Variance is how a counter's values change.
type Variance int32

// The variances. Any other counts as Variable.
const (
	Constant Variance = iota + 1
	Monotonic
	Variable
)

var varianceNames = [...]string{"", "constant", "monotonic", "variable"}

// String returns the name of v, or variance-N if it has no name.
func (v Variance) String() string {
	if v == 0 {
		return "variance-0"
	}
	return nameOf(varianceNames[:], int32(v), "variance-")
}

func nameOf(names []string, n int32, otherwise string) string {
	if n < 0 || int(n) >= len(names) {
		return otherwise + strconv.Itoa(int(n))
	}
	return names[n]
}

// A Status is an agent's answer to a request.
type Status uint8

// The statuses.
const (
	OK Status = iota
	NotOK
	NotFound
	Existing
)

var statusNames = [...]string{"ok", "not ok", "not found", "existing"}

func (s Status) String() string { return nameOf(statusNames[:], int32(s), "status-") }

// A Counter is a counter as an agent announces it.
type Counter struct {
	Category Category
	Name     string // as sent: UTF-8 or Latin-1
	Type     Type
	Unit     Unit
	Variance Variance
	Index    int16 // names the counter in samples, on one connection
}

// A Value is one counter's value in a sample.
type Value struct {
	Index int16
	Type  Type
	Bits  uint64 // of an int64, or of a float64 for a Double
}

// valueOf returns the value of type t with the given bits. NaN and infinities are unknown.
func valueOf(t Type, bits uint64) rra.Value {
	if t != Double {
		return rra.Int(int64(bits))
	}
	return receivers.Finite(math.Float64frombits(bits))
}

// A Pair is one counter in the answer to a list request: its name and its category. The dialect
// decides their order.
type Pair struct{ First, Second string }

// Counter returns the category and the name in p. The string that is the name of a known category
// is the category. If both or neither are, the dialect d decides.
func (p Pair) Counter(d Dialect) (category, name string) {
	_, first := ParseCategory(p.First)
	_, second := ParseCategory(p.Second)
	if first != second {
		if first {
			return p.First, p.Second
		}
		return p.Second, p.First
	}
	if d == AgentDialect {
		return p.First, p.Second
	}
	return p.Second, p.First
}

// A Dialect is how requests are written.
type Dialect uint8

// The dialects.
const (
	PageDialect  Dialect = iota // as the protocol was published
	AgentDialect                // as the agent reads it
)

func (d Dialect) String() string {
	if d == AgentDialect {
		return "agent"
	}
	return "page"
}

// ParseDialect parses "page" or "agent".
func ParseDialect(s string) (Dialect, error) {
	switch s {
	case "page":
		return PageDialect, nil
	case "agent":
		return AgentDialect, nil
	}
	return 0, fmt.Errorf("dialect %q is none of page, agent", s)
}

// checkText returns an error if a string cannot be sent.
func checkText(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("empty %s", what)
	case len(s) > MaxText:
		return fmt.Errorf("%s of %d bytes, at most %d are allowed", what, len(s), MaxText)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("%s %q has a NUL", what, s)
	}
	return nil
}

// A tick is 100 ns. The epochs of timestamps, as numbers of ticks before 1970.
const (
	ticksYear1 = 62_135_596_800 * ticksSecond
	ticks1601  = 11_644_473_600 * ticksSecond

	ticksSecond = 10_000_000
	ticksMicro  = 10
)

// TimeOf returns the time of a sample's timestamp. Agents count ticks from the year 1, 1601 or
// 1970, which the size of the number shows. ok is false for other numbers, whose epoch is not
// known.
func TimeOf(ticks int64) (t rra.Time, ok bool) {
	switch {
	case ticks >= 6e17 && ticks <= 7e17:
		ticks -= ticksYear1
	case ticks >= 1.2e17 && ticks <= 2e17:
		ticks -= ticks1601
	case ticks >= 9e15 && ticks <= 5e16:
	default:
		return 0, false
	}
	t = rra.Time(ticks / ticksMicro)
	if ticks%ticksMicro < 0 {
		t--
	}
	return t, true
}

// Ticks returns the timestamp of t, as the agent writes it.
func Ticks(t rra.Time) int64 { return int64(t)*ticksMicro + ticksYear1 }

// failure returns an error at offset off of a stream.
func failure(r receivers.Reason, off int64, format string, args ...any) error {
	return &receivers.Error{Reason: r, Offset: int(off), What: fmt.Sprintf(format, args...)}
}
