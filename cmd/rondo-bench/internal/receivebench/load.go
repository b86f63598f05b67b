package receivebench

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/collectd"
	"github.com/rondo-db/rondo/receivers/gmetric"
	"github.com/rondo-db/rondo/receivers/mono"
	"github.com/rondo-db/rondo/receivers/smon"
)

// hostSeries is the number of series of one host.
const hostSeries = 100

// A load is what is sent. It is for one goroutine.
type load interface {
	// size returns the number of messages in a round, and of series and values in all of them.
	size() (messages, series, values int)
	// before returns messages without values that go before the first round, as message 0, 1 and so
	// on.
	before() [][]byte
	// step moves the readings of message i on, and returns it and how many samples it holds, and
	// values in them. The message is valid until step is called for it again.
	step(i int) (message []byte, samples, values int)
	// series returns the n-th series: its path, and the last reading of each of its sources.
	series(n int) state
}

// A state is what a series must hold: its path, the second of its last update (0: it is not told),
// and the last reading of each source.
type state struct {
	Path     string
	At       int64
	Readings []string // as rra.FormatReading gives them
}

// A subject is a protocol that can be measured.
type subject struct {
	protocol receivers.Protocol
	interval int64 // seconds between two readings of a series
	// messages have no time: the receiver's clock tells, and goes as fast as the load's
	untimed bool
	most    int    // bytes of a datagram
	conns   string // flag that says how many connections there may be
	// load returns one of at least series series, whose first readings are of the second start.
	load func(seed uint64, series int, start int64) load
}

// subjects are all there are, by name.
var subjects = map[string]subject{
	"collectd": {
		protocol: collectd.Protocol, interval: collectdInterval, most: collectd.DefaultPacketBytes,
		load: newCollectdLoad,
	},
	"gmetric": {
		protocol: gmetric.Protocol, interval: gmetricInterval, most: gmetricMost, untimed: true,
		load: func(seed uint64, series int, _ int64) load { return newGmetricLoad(seed, series, false) },
	},
	"gmetric-command": {
		protocol: gmetric.Protocol, interval: gmetricInterval, most: gmetricMost, untimed: true,
		load: func(seed uint64, series int, _ int64) load { return newGmetricLoad(seed, series, true) },
	},
	"mono": {
		protocol: mono.Protocol, interval: monoInterval, conns: "mono-connections",
		load: newMonoLoad,
	},
	"smon": {
		protocol: smon.Protocol, interval: smonInterval, untimed: true, conns: "smon-connections",
		load: func(seed uint64, series int, _ int64) load { return newSmonLoad(seed, series) },
	},
}

// Protocols returns the names of what can be measured.
func Protocols() []string { return slices.Sorted(maps.Keys(subjects)) }

func subjectOf(name string) (subject, error) {
	s, ok := subjects[name]
	if !ok {
		return s, fmt.Errorf("bench: protocol %q: not one of %v", name, Protocols())
	}
	return s, nil
}
