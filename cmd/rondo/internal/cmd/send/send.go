// Package send has the commands that speak a protocol of the receivers: senders, rrdd-publish, and
// mono, which asks agents for counters.
package send

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
)

const sendHelp = `Send samples in a protocol that rondo receives, to try a receiver or to feed one from a script.

Without an address they go to where ` + "`rondo serve`" + ` listens by default; of Mono's agents, to where they look for an inspector.`

func NewCommand(c *cli.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "send",
		Short: "Send samples in one of the protocols that serve receives",
		Long:  sendHelp,
	}
	for _, make := range senders {
		cmd.AddCommand(make(c))
	}
	return cmd
}

// senders make the commands below `rondo send`, one for each protocol.
var senders = []func(c *cli.Factory) *cobra.Command{
	newSendCollectd,
	newSendGmetric,
	newSendMono,
	newSendSmon,
}

// A rounds is the flags that say how often something is sent.
type rounds struct {
	interval time.Duration
	count    int // 0: without end
}

func (r *rounds) addFlags(f *pflag.FlagSet, what string) {
	f.DurationVar(&r.interval, "interval", 0, "time between two "+what)
	f.IntVar(&r.count, "count", 0, "`number` of "+what+" (default: 1, or no end with --interval)")
}

// check refuses flags without meaning. Without an interval there is one round.
func (r *rounds) check() error {
	switch {
	case r.interval < 0 || r.count < 0:
		return errors.New("--interval and --count are not negative")
	case r.interval == 0 && r.count > 1:
		return errors.New("--count needs --interval")
	case r.interval == 0:
		r.count = 1
	}
	return nil
}

// instant returns the time that --at names; now if it names none.
func instant(text string, now time.Time) (rra.Time, error) {
	if text == "" {
		return rra.TimeOf(now), nil
	}
	at, err := attime.Instant(text, now)
	if err != nil {
		return 0, fmt.Errorf("--at: %w", err)
	}
	return rra.Seconds(at), nil
}
