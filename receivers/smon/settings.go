package smon

import (
	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
)

var (
	flagFile = receivers.Flag{
		Name: "smon-file", Repeat: true,
		Usage: "`file` or pipe with a token stream, to be read to its end; - is standard input",
	}
	flagKind = receivers.Flag{
		Name: "smon-kind", Repeat: true,
		Usage: "kind of new series by name, as `glob=kind`: 'linux.cpu.*=DERIVE' (default: GAUGE)",
	}
	flagStep  = receivers.StepFlag("smon", "10s")
	flagConns = receivers.NewConnFlags("smon", "a sender", "senders")
)

// settings are the values of the protocol's flags.
type settings struct {
	kinds kinds
	step  int64 // seconds
	tcp   sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	if s.kinds, err = parseKinds(cfg.OptionValues(flagKind)); err != nil {
		return settings{}, flagKind.Wrong(err)
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return settings{}, err
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}
