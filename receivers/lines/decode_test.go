package lines

import (
	"bytes"
	"math"
	"strconv"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// A Line is one line of a datagram. Name points into the datagram.
type Line struct {
	Name  []byte
	Value float64
	Time  rra.Time
}

// Decode calls take for each line of a datagram: "NAME VALUE SECOND" and a line feed. It stops at
// the first line that is not of this form. The error is a *receivers.Error that says where that is.
func Decode(packet []byte, take func(Line)) error {
	for off := 0; off < len(packet); {
		text, _, _ := bytes.Cut(packet[off:], []byte("\n"))
		l, ok := parse(text)
		if !ok {
			return &receivers.Error{Reason: receivers.Malformed, Offset: off, What: "a line is no NAME VALUE SECOND"}
		}
		take(l)
		off += len(text) + 1
	}
	return nil
}

const (
	maxName   = 1024
	maxSecond = 1 << 40
)

func parse(text []byte) (l Line, ok bool) {
	name, rest, _ := bytes.Cut(text, []byte(" "))
	number, second, ok := bytes.Cut(rest, []byte(" "))
	if !ok || len(name) == 0 || len(name) > maxName {
		return l, false
	}
	value, err := strconv.ParseFloat(string(number), 64)
	if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
		return l, false
	}
	at, err := strconv.ParseInt(string(second), 10, 64)
	if err != nil || at < -maxSecond || at > maxSecond {
		return l, false
	}
	return Line{Name: name, Value: value, Time: rra.Seconds(at)}, true
}
