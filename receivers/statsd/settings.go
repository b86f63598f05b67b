package statsd

import (
	"fmt"
	"slices"
	"time"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

var (
	flagStep = receivers.Flag{
		Name: "statsd-step", Default: "10s",
		Usage: "`time` from one flush to the next, and step of new series",
	}
	flagPercentiles = receivers.Flag{
		Name: "statsd-percentiles", Default: "50,90,95,99",
		Usage: "`percentiles` of timers, with commas between them",
	}
	flagDeleteGauges = receivers.Flag{
		Name: "statsd-delete-gauges", Switch: true,
		Usage: "store nothing for a gauge that has not arrived since the last flush, in place of its last value",
	}
	flagDeleteIdle = receivers.Flag{
		Name: "statsd-delete-idle", Switch: true,
		Usage: "store nothing for any metric that has not arrived since the last flush, in place of 0",
	}
	flagForget = receivers.Flag{
		Name: "statsd-forget", Default: "1d",
		Usage: "forget a metric that has not arrived for this `time`; 0: never",
	}
	flagConns = receivers.NewConnFlags("statsd", "a client", "clients")
)

var flags = append([]receivers.Flag{flagStep, flagPercentiles, flagDeleteGauges, flagDeleteIdle, flagForget}, flagConns.All()...)

// settings are the values of the protocol's flags.
type settings struct {
	step                     int64 // seconds
	stats                    []statistic
	deleteGauges, deleteIdle bool
	forget                   int64 // seconds; 0: never
	tcp                      sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	if s.step, err = cfg.Step(flagStep); err != nil {
		return s, err
	}
	more, err := percentiles(cfg.Option(flagPercentiles))
	if err != nil {
		return s, flagPercentiles.Wrong(err)
	}
	s.stats = append(slices.Clone(statistics), more...)
	if s.deleteGauges, err = cfg.Bool(flagDeleteGauges); err != nil {
		return s, err
	}
	if s.deleteIdle, err = cfg.Bool(flagDeleteIdle); err != nil {
		return s, err
	}
	forget, err := receivers.ParseDuration(cfg.Option(flagForget))
	if err != nil || forget < 0 {
		return s, flagForget.Wrong(fmt.Errorf("%q is no time such as 1d", cfg.Option(flagForget)))
	}
	s.forget = int64((forget + time.Second - 1) / time.Second)
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}
