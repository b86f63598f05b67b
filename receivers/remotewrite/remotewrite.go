package remotewrite

import (
	"cmp"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

// Protocol is Prometheus' remote write.
var Protocol = receivers.Protocol{
	Name:    "remotewrite",
	Title:   "Prometheus' remote write",
	Prefix:  "prometheus",
	Network: receivers.HTTP,
	Address: receivers.On,
	Routes:  []string{"POST /api/v1/write"},
	Usage:   "`on|off`: whether --http takes Prometheus' remote write, at /api/v1/write",
	Flags:   []receivers.Flag{flagStep, flagRound},
	Default: func(c receivers.Config, step int64) *rra.Definition {
		set, _ := configure(c) // Check says what is wrong
		return definition(cmp.Or(step, set.step), false)
	},
	Check: func(c receivers.Config) error { _, err := configure(c); return err },
	New:   func(c receivers.Config, s receivers.Sink) (receivers.Receiver, error) { return newServer(c, s) },
}
