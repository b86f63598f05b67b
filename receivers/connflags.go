package receivers

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/sockets"
)

// StepFlag returns the flag --PROTOCOL-step with the default step. It is for protocols whose
// messages do not say how often a sender sends.
func StepFlag(protocol, step string) Flag {
	return Flag{Name: protocol + "-step", Default: step, Usage: "`step` of new series"}
}

// LearnedStepFlag is StepFlag where the first samples of a series show its step, if nothing else
// says it.
func LearnedStepFlag(protocol string) Flag {
	return Flag{Name: protocol + "-step", Usage: "`step` of new series; empty: learned from their first samples"}
}

// Step returns the value of a StepFlag in seconds; 0: the step is learned. The error names the
// flag.
func (c Config) Step(f Flag) (int64, error) {
	if f.Default == "" && c.Option(f) == "" {
		return 0, nil
	}
	step, err := ParseStep(c.Option(f))
	if err != nil {
		return 0, f.Wrong(err)
	}
	return step, nil
}

// Wrong returns an error that names the flag f. err says what is wrong with its value.
func (f Flag) Wrong(err error) error { return fmt.Errorf("--%s: %w", f.Name, err) }

// ConnFlags are the flags that bound the connections of a protocol over TCP.
type ConnFlags struct {
	Idle      Flag // how long a peer may be silent
	Conns     Flag // how many connections there may be
	HostConns Flag // how many of them one address may have, or of IPv6 one network of 64 bits
}

// NewConnFlags returns the flags of a protocol. one and many are the protocol's words for its
// peers, such as "an agent" and "agents".
func NewConnFlags(protocol, one, many string) ConnFlags {
	return ConnFlags{
		Idle: Flag{
			Name: protocol + "-idle", Default: "10m",
			Usage: "close the connection of " + one + " that is silent for this `time`; 0: never",
		},
		Conns: Flag{
			Name: protocol + "-connections", Default: strconv.Itoa(sockets.DefaultConns),
			Usage: "the largest `number` of " + many,
		},
		HostConns: Flag{
			Name: protocol + "-host-connections", Default: strconv.Itoa(sockets.DefaultHostConns),
			Usage: "the largest `number` of " + many + " of one address, or of IPv6 one network of 64 bits",
		},
	}
}

// All returns the flags in the order of the help text.
func (f ConnFlags) All() []Flag { return []Flag{f.Idle, f.Conns, f.HostConns} }

// TCP returns the options of a listener that c configures. The error names the flag that is wrong.
func (f ConnFlags) TCP(c Config) (sockets.TCPOptions, error) {
	o := sockets.TCPOptions{Address: c.Address, Listener: c.Listener, Yield: c.Yield, Logger: c.Logger}
	var err error
	if o.Idle, err = ParseDuration(c.Option(f.Idle)); err != nil || o.Idle < 0 {
		return o, f.Idle.Wrong(fmt.Errorf("%q is no time such as 10m", c.Option(f.Idle)))
	}
	if o.Idle == 0 {
		o.Idle = -1
	}
	if o.Conns, err = c.Number(f.Conns); err != nil {
		return o, err
	}
	o.HostConns, err = c.Number(f.HostConns)
	return o, err
}

// Number returns the value of a flag that is a number above 0. The error names the flag.
func (c Config) Number(f Flag) (int, error) {
	n, err := strconv.Atoi(c.Option(f))
	if err != nil || n < 1 {
		return 0, f.Wrong(fmt.Errorf("%q is no number above 0", c.Option(f)))
	}
	return n, nil
}

// Bool returns the value of a flag that is a switch. The error names the flag.
func (c Config) Bool(f Flag) (bool, error) {
	on, err := strconv.ParseBool(cmp.Or(c.Option(f), "false"))
	if err != nil {
		return false, f.Wrong(fmt.Errorf("%q: want true or false", c.Option(f)))
	}
	return on, nil
}

// Choice returns the index of the value of a flag in words. The error names the flag.
func (c Config) Choice(f Flag, words ...string) (int, error) {
	i := slices.Index(words, c.Option(f))
	if i < 0 {
		return 0, f.Wrong(fmt.Errorf("%q: want one of %s", c.Option(f), strings.Join(words, ", ")))
	}
	return i, nil
}
