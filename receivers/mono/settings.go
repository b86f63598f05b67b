package mono

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/internal/sockets"
	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/internal/streams"
)

var (
	flagFile = receivers.Flag{
		Name: "mono-file", Repeat: true,
		Usage: "recorded `file` of an agent, to be read once at the start",
	}
	flagDialect = receivers.Flag{
		Name: "mono-dialect", Default: "page",
		Usage: "`dialect` of requests: page (as published) or agent (as the agent of 2014 reads them)",
	}
	flagAdd = receivers.Flag{
		Name: "mono-add", Repeat: true,
		Usage: "`counter` to ask every agent for, as category/name: 'Mono GC/Minor GC collections'",
	}
	flagCarried = receivers.Flag{
		Name: "mono-carried", Default: strconv.Itoa(carriedRate),
		Usage: "stored `values` a second, for the agents of one address, of counters that have not changed",
	}
	flagStep  = receivers.StepFlag("mono", "1s")
	flagConns = receivers.NewConnFlags("mono", "an agent", "agents")
)

// An empty sample of eleven bytes makes the receiver store the last values of all counters of an
// agent, up to 4096. To bound this work, only a limited number of values is carried forward for the
// agents of one address. Values that are sent are not counted, because they take 8 bytes each.
const (
	carriedRate  = 1 << 18 // values a second, unless --mono-carried says otherwise
	carriedBurst = 4       // seconds of them at once
)

// maxWanted is the largest number of counters that every agent is asked for.
const maxWanted = 256

// A wanted is a counter by its names.
type wanted struct{ category, name string }

func (w wanted) String() string { return w.category + "/" + w.name }

// parseWanted parses CATEGORY/NAME. The name may contain slashes.
func parseWanted(s string) (wanted, error) {
	category, name, ok := strings.Cut(s, "/")
	if !ok {
		return wanted{}, fmt.Errorf("%q is no CATEGORY/NAME", s)
	}
	if err := errors.Join(checkText("category", category), checkText("name", name)); err != nil {
		return wanted{}, fmt.Errorf("%q is no CATEGORY/NAME: %w", s, err)
	}
	return wanted{category, name}, nil
}

// settings are the values of the protocol's flags.
type settings struct {
	dialect Dialect
	add     []wanted
	carried int   // values a second
	step    int64 // seconds
	tcp     sockets.TCPOptions
}

func configure(cfg receivers.Config) (s settings, err error) {
	if err := streams.Check(cfg, flagFile); err != nil {
		return settings{}, err
	}
	if s.dialect, err = ParseDialect(cfg.Option(flagDialect)); err != nil {
		return settings{}, flagDialect.Wrong(err)
	}
	for _, text := range cfg.OptionValues(flagAdd) {
		w, err := parseWanted(text)
		if err != nil {
			return settings{}, flagAdd.Wrong(err)
		}
		s.add = append(s.add, w)
	}
	if len(s.add) > maxWanted {
		return settings{}, flagAdd.Wrong(fmt.Errorf("%d counters, at most %d are allowed", len(s.add), maxWanted))
	}
	if s.carried, err = cfg.Number(flagCarried); err != nil {
		return settings{}, err
	}
	if s.step, err = cfg.Step(flagStep); err != nil {
		return settings{}, err
	}
	s.tcp, err = flagConns.TCP(cfg)
	return s, err
}
