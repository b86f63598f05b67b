package remotewrite

import (
	"cmp"
	"math"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/rra"
)

var (
	flagStep  = receivers.LearnedStepFlag("remotewrite")
	flagRound = receivers.Flag{
		Name: "remotewrite-round", Default: "second",
		Usage: "cut times to the whole `unit`, second or step, if a series is always scraped so long after one; never: keep the milliseconds",
	}
)

type settings struct {
	step  int64 // seconds; 0: learned
	round rounding

	// The definitions of new series. A step of 0 is the flag's, or a guess.
	levels, counters func(step int64) *rra.Definition
}

// A rounding says to what the times of samples are cut: the words of --remotewrite-round, in order.
type rounding int

const (
	toSecond rounding = iota
	toStep
	never
)

func configure(c receivers.Config) (s settings, err error) {
	if s.step, err = c.Step(flagStep); err != nil {
		return s, err
	}
	own := s.step
	s.levels = receivers.ByStep(func(step int64) *rra.Definition { return definition(cmp.Or(step, own), false) })
	s.counters = receivers.ByStep(func(step int64) *rra.Definition { return definition(cmp.Or(step, own), true) })
	round, err := c.Choice(flagRound, "second", "step", "never")
	s.round = rounding(round)
	return s, err
}

const (
	guessedStep = 15 // seconds, of a series whose job is not known yet
	heartbeats  = 3  // steps in a heartbeat: one scrape may fail
)

// definition returns the definition of a new series. step is in seconds; 0: guessedStep.
func definition(step int64, counts bool) *rra.Definition {
	if step <= 0 {
		step = guessedStep
	}
	d := receivers.StandardDefinition(step)
	s := &d.Sources[0]
	s.Heartbeat = heartbeats * step
	if counts {
		s.Kind, s.Min = rra.DDerive, 0
	}
	s.Max = math.NaN()
	return d
}
