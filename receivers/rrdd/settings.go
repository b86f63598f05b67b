package rrdd

import (
	"fmt"
	"time"

	"github.com/rondo-db/rondo/receivers"
)

var (
	flagInterval = receivers.Flag{
		Name: "rrdd-interval", Default: "5s",
		Usage: "`time` between two readings of the plugin files, 100ms to 1h",
	}
	flagTypes = receivers.Flag{
		Name: "rrdd-types", Default: vocabularyWords[Auto],
		Usage: "what the `word` absolute means: legacy (a level), modern (a count), or auto, by the file's other words",
	}
	flagOnlyDefault = receivers.Flag{
		Name: "rrdd-only-default", Default: "false", Switch: true,
		Usage: "store only the data sources that are marked default, as the daemon does",
	}
)

// settings is what the protocol's flags say.
type settings struct {
	interval    time.Duration
	types       Vocabulary
	onlyDefault bool
}

const (
	minInterval = 100 * time.Millisecond
	maxInterval = time.Hour
)

func configure(cfg receivers.Config) (s settings, err error) {
	text := cfg.Option(flagInterval)
	if s.interval, err = receivers.ParseDuration(text); err != nil || s.interval < minInterval || s.interval > maxInterval {
		return s, flagInterval.Wrong(fmt.Errorf("%q: want a time from %v to %v, such as 5s", text, minInterval, maxInterval))
	}
	types, err := cfg.Choice(flagTypes, vocabularyWords...)
	if err != nil {
		return s, err
	}
	s.types = Vocabulary(types)
	s.onlyDefault, err = cfg.Bool(flagOnlyDefault)
	return s, err
}
