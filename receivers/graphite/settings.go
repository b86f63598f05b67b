package graphite

import (
	"fmt"
	"log/slog"
	"strconv"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

var (
	flagSchemas = receivers.Flag{
		Name: "graphite-schemas", File: true,
		Usage: "carbon's storage-schemas.conf, a `file` that says the step and archives of new series; read again when it changes",
	}
	flagAggregation = receivers.Flag{
		Name: "graphite-aggregation", File: true,
		Usage: "carbon's storage-aggregation.conf, a `file` that says how archives are consolidated; read again when it changes",
	}
	flagHost = receivers.Flag{
		Name: "graphite-host", Default: "0",
		Usage: "`number` of the part of a name that is its host, 2 of servers.web1.load; 0: a tag host alone says it",
	}
	flagStep  = receivers.LearnedStepFlag("graphite")
	flagConns = receivers.NewConnFlags("graphite", "a sender", "senders")
)

// flags are the flags of the receiver of lines. The receiver of pickles shares them.
var flags = append([]receivers.Flag{flagSchemas, flagAggregation, flagHost, flagStep}, flagConns.All()...)

// settings are the values of the protocol's flags.
type settings struct {
	schemas *Schemas
	host    int // the part of a name that is its host; 0: none
	tcp     sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	cfg = cfg.WithDefaults()
	step, err := cfg.Step(flagStep)
	if err != nil {
		return s, err
	}
	if s.schemas, err = openSchemas(step, cfg.Option(flagSchemas), cfg.Option(flagAggregation), cfg.Logger); err != nil {
		return s, err
	}
	if s.host, err = strconv.Atoi(cfg.Option(flagHost)); err != nil || s.host < 0 {
		return s, flagHost.Wrong(fmt.Errorf("%q is no number of a part, such as 2", cfg.Option(flagHost)))
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}

// openSchemas returns the schemas of two files. A name may be empty. step is in seconds.
func openSchemas(step int64, storage, aggregations string, log *slog.Logger) (*Schemas, error) {
	s := &Schemas{step: step, log: log}
	if err := s.storage.open(storage, parseSchema); err != nil {
		return nil, flagSchemas.Wrong(err)
	}
	if err := s.aggregation.open(aggregations, parseAggregation); err != nil {
		return nil, flagAggregation.Wrong(err)
	}
	return s, nil
}
