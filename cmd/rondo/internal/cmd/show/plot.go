package show

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

const plotHelp = `Draw series in the terminal: lines of braille dots with both axes, and a legend with the last, the least, the mean and
the greatest value. Rows that are not known leave a gap.

  rondo plot collectd/web1/load/load              all data sources of a series
  rondo plot router/eth0:in router/eth0:out       two of them
  rondo plot 'collectd/*/load/load' --ds shortterm
  rondo plot collectd/web1/load -s -1d            all series of a folder, a day
  rondo plot router/eth0 --watch                  drawn again every two seconds

A NAME is a series, a series and a data source (NAME:DS), a folder, or a pattern: * is any text without a slash, ** any text, ? one
character. Times are those of rondo show: 2026-11-20T15:04, seconds since 1970, -1h, -1d, midnight (-5m are months, -5min minutes). The
default is an hour, or longer if the rows are, up to now; of series without newer values, up to their last one.

A line has a band from the least to the greatest value around it if it is the only one and its series keeps MIN and MAX. Colours
follow --color, NO_COLOR and TERM; a pipe gets none. Without them lines differ by dashes. --ascii, or a locale without UTF-8, draws with
letters.

Keys while it watches: + and - change the range, arrows move it, home goes back to now, l is logarithmic, s stacks, space
pauses, q ends.`

// watchDefault is the interval of --watch without a value.
const watchDefault = "2s"

func NewPlot(c *cli.Factory) *cobra.Command {
	p := &plotting{Factory: c}
	cmd := &cobra.Command{
		Use:               "plot NAME…",
		Short:             "Draw series in the terminal",
		Long:              plotHelp,
		Args:              cli.Takes(1, cli.Unlimited),
		ValidArgsFunction: c.CompleteSeries,
		RunE: func(cmd *cobra.Command, args []string) error {
			args, err := p.check(cmd, args)
			if err != nil {
				return cli.Misused("plot", err)
			}
			return p.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&p.start, "start", "s", "", "`time` at which the chart begins (default: an hour before its end, or more)")
	f.StringVarP(&p.end, "end", "e", "", "`time` at which the chart ends (default: now)")
	cli.AddFunction(cmd, &p.cf)
	f.StringSliceVar(&p.ds, "ds", nil, "data `sources` to draw, by name or pattern, with commas between them (default: all)")
	f.StringVar(&p.lower, "lower", "", "the `value` at the bottom (default: the values decide)")
	f.StringVar(&p.upper, "upper", "", "the `value` at the top (default: the values decide)")
	f.BoolVar(&p.log, "log", false, "a logarithmic value axis")
	f.BoolVar(&p.stack, "stack", false, "put the values on top of each other")
	f.BoolVar(&p.binary, "binary", false, "print numbers in Ki, Mi, Gi: powers of 1024")
	f.BoolVar(&p.noLegend, "no-legend", false, "leave the legend out")
	cli.AddChoice(cmd, &p.band, cli.Whens[0], "band", "", cli.Whens, "`when` to draw a band from MIN to MAX around lines: auto, always or never")
	f.StringVar(&p.watch, "watch", "", "draw again and again, with this `interval` between (default: "+watchDefault+")")
	f.Lookup("watch").NoOptDefVal = watchDefault
	p.LookFlags.AddTo(cmd, "drawing")
	return cmd
}

// interval matches an argument that can be the interval of --watch.
var interval = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(ms|s|min|m|h)?$`)

// check refuses flags without meaning. It returns the names without an interval that stands behind
// --watch.
func (p *plotting) check(cmd *cobra.Command, args []string) ([]string, error) {
	f := cmd.Flags()
	if f.Changed("watch") && p.watch == watchDefault && len(args) > 1 {
		for i, a := range args {
			if interval.MatchString(a) {
				p.watch, args = a, slices.Delete(slices.Clone(args), i, i+1)
				break
			}
		}
	}
	if p.log && p.stack {
		return nil, errors.New("--log and --stack do not go together: sums on a logarithmic axis mislead")
	}
	if _, err := p.every(); err != nil {
		return nil, err
	}
	if err := p.LookFlags.Check(f); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"lower": p.lower, "upper": p.upper} {
		if _, err := strconv.ParseFloat(text, 64); text != "" && err != nil {
			return nil, fmt.Errorf("--%s %s: want a number", name, cli.Quoted(text))
		}
	}
	p.HintMonths(p.start, p.end)
	return args, nil
}

// every returns the interval of --watch; 0: it was not given.
func (p *plotting) every() (time.Duration, error) {
	if p.watch == "" {
		return 0, nil
	}
	var d cli.Duration
	if err := d.Set(strings.TrimSuffix(p.watch, "in")); err != nil {
		return 0, fmt.Errorf("--watch %s: want an interval, such as 2s", cli.Quoted(p.watch))
	}
	if d := time.Duration(d); d >= 100*time.Millisecond {
		return d, nil
	}
	return 0, fmt.Errorf("--watch %s: want 100ms or more", cli.Quoted(p.watch))
}

func (p *plotting) run(ctx context.Context, names []string) error {
	if every, _ := p.every(); every > 0 { // check has seen the error
		return p.watching(ctx, names, every)
	}
	return p.Target().Read(ctx, func(db *backend.Database) error {
		look := p.Look(p.Stdout, p.LookFlags)
		c, err := p.draw(ctx, db, names, look)
		if err != nil {
			return err
		}
		return chart.Draw(c).Print(cli.Bare(p.Stdout), look.Colors)
	})
}
