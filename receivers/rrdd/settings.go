package rrdd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
		return s, fmt.Errorf("--%s %s: want a time from %v to %v, such as 5s", flagInterval.Name, text, minInterval, maxInterval)
	}
	i := slices.Index(vocabularyWords, cfg.Option(flagTypes))
	if i < 0 {
		return s, fmt.Errorf("--%s %s: want one of %s", flagTypes.Name, cfg.Option(flagTypes), strings.Join(vocabularyWords, ", "))
	}
	s.types = Vocabulary(i)
	if s.onlyDefault, err = strconv.ParseBool(cfg.Option(flagOnlyDefault)); err != nil {
		return s, fmt.Errorf("--%s %s: want true or false", flagOnlyDefault.Name, cfg.Option(flagOnlyDefault))
	}
	return s, nil
}
