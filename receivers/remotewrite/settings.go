package remotewrite

import (
	"cmp"
	"fmt"
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

// A rounding says to what the times of samples are cut.
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
	switch v := c.Option(flagRound); v {
	case "second":
		s.round = toSecond
	case "step":
		s.round = toStep
	case "never":
		s.round = never
	default:
		return s, flagRound.Wrong(fmt.Errorf("%q: want second, step or never", v))
	}
	return s, nil
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
