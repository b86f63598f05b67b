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

// A subject is a protocol that can be measured.
type subject struct {
	protocol receivers.Protocol
	interval int64 // seconds between two readings of a series
	// untimed says that messages contain no time. The receiver's clock then gives the times, and
	// runs as fast as the load's.
	untimed bool
	most    int    // bytes of a datagram
	conns   string // flag for the number of connections
	// load returns a load of at least so many series, whose first readings have the time start.
	load func(seed uint64, series int, start int64) load
}

// subjects are all subjects, by name.
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

// Protocols returns the names of the subjects, which [Config.Protocol] may have.
func Protocols() []string { return slices.Sorted(maps.Keys(subjects)) }

func subjectOf(name string) (subject, error) {
	s, ok := subjects[name]
	if !ok {
		return s, fmt.Errorf("bench: protocol %q: not one of %v", name, Protocols())
	}
	return s, nil
}
