// Package query has the command rondo query: an expression in PromQL, printed or drawn.
package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/config"
	"github.com/rondo-db/rondo/cmd/rondo/internal/rules"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/rra"
)

const queryHelp = `Evaluate an expression in PromQL over the archives, by Prometheus' own engine: at one time, or over a range.

  rondo query 'collectd_load_shortterm'                             now
  rondo query 'sum by (instance) (rate(collectd_cpu_total[5m]))' --time -1d
  rondo query 'collectd_load_shortterm' --range 6h                  a chart, in a terminal
  rondo query 'max(collectd_load_shortterm)' -s -1d --step 1h -o csv

Without --range, --start and --end the expression is evaluated once. Times are those of rondo show: 2026-11-20T15:04, seconds since
1970, -1h, -1d, midnight (-5m are months, -5min minutes). A range ends now; without --step it has a step that fits a chart. A range is
drawn in a terminal and printed as a table elsewhere; --output chooses. JSON and tables print values as they are, NaN and +Inf included.

Names of metrics and labels, and which archive answers: docs/prometheus.md.`

// The formats besides a table's.
const (
	chosen = "auto" // a chart for a range in a terminal, otherwise a table
	drawn  = "chart"
)

// The default range of rondo query.
const (
	queriedRange = "1h" // of a chart without one
	queriedSteps = 240  // in a range, about
)

// A querying is a run of rondo query.
type querying struct {
	*cli.Factory
	cli.LookFlags
	at, length, start, end string
	step                   string
	format                 string
	limit                  int
}

func NewCommand(c *cli.Factory) *cobra.Command {
	q := &querying{Factory: c}
	cmd := &cobra.Command{
		Use:               "query EXPR",
		Short:             "Evaluate an expression in PromQL",
		Long:              queryHelp,
		Args:              cli.Takes(1, 1),
		ValidArgsFunction: q.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(cmd); err != nil {
				return cli.Misused("query", err)
			}
			path, form, err := q.request(args[0])
			if err != nil {
				return err
			}
			return q.Target().Read(cmd.Context(), func(db *backend.Database) error { return q.run(cmd.Context(), db, args[0], path, form) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&q.at, "time", "t", "", "evaluate at this `time` (default: now)")
	f.StringVarP(&q.length, "range", "r", "", "evaluate over this `length` of time up to the end: 1h, 2d")
	f.StringVarP(&q.start, "start", "s", "", "`time` at which a range begins")
	f.StringVarP(&q.end, "end", "e", "", "`time` at which a range ends (default: now)")
	f.StringVar(&q.step, "step", "", "`length` of a step of a range: 15s, 5m (default: such that a chart is filled)")
	cli.AddFormats(cmd, &q.format, slices.Concat([]string{chosen}, table.Formats, []string{drawn}))
	f.IntVar(&q.limit, "limit", 0, "the most `series` to print (default: all)")
	q.LookFlags.AddTo(cmd, "chart")
	return cmd
}

// ranges reports whether the expression is evaluated over a range.
func (q *querying) ranges() bool { return q.length != "" || q.start != "" || q.end != "" }

// check refuses flags without meaning, and chooses the format.
func (q *querying) check(cmd *cobra.Command) error {
	f := cmd.Flags()
	if q.format == drawn && !q.ranges() && q.at == "" {
		q.length = queriedRange
	}
	switch {
	case q.at != "" && q.ranges():
		return errors.New("--time is for one time: give --start, --end or --range for a range")
	case q.at != "" && q.format == drawn:
		return errors.New("--output chart is for a range: give --range, or --start and --end, and not --time")
	case q.length != "" && q.start != "":
		return errors.New("--range and --start do not go together: a range ends at --end, or now")
	case q.step != "" && !q.ranges():
		return errors.New("--step is for a range: give --range, or --start and --end")
	case q.end != "" && q.start == "" && q.length == "":
		return errors.New("--end is for a range: give --range or --start, too")
	case q.limit < 0 || q.limit == 0 && f.Changed("limit"):
		return fmt.Errorf("--limit %d: want 1 or more", q.limit)
	}
	if err := q.LookFlags.Check(f); err != nil {
		return err
	}
	for name, text := range map[string]string{"range": q.length, "step": q.step} {
		if n, err := rra.ParseDuration(text); text != "" && (err != nil || n < 1) {
			return fmt.Errorf("--%s %s: want a duration, such as 15s, 5m, 1h", name, cli.Quoted(text))
		}
	}
	if q.format == chosen {
		if q.format = table.Formats[0]; q.ranges() && cli.IsTerminal(q.Stdout) {
			q.format = drawn
		}
	}
	q.HintMonths(q.at, q.start, q.end)
	return nil
}

func (q *querying) run(ctx context.Context, db *backend.Database, expr, path string, form url.Values) error {
	names, err := q.metrics()
	if err != nil {
		return err
	}
	answer, err := db.PromQL(ctx, path, form, names)
	if err != nil {
		return err
	}
	for _, w := range append(answer.Warnings, answer.Infos...) {
		// If this fails, the warning cannot be delivered.
		_, _ = fmt.Fprintln(q.Stderr, cli.OneLine(w))
	}
	v, err := readQueried(answer.Data)
	if err != nil {
		return err
	}
	if len(v) == 0 {
		q.explainNothing(ctx, db, expr, names)
	}
	if q.format == drawn {
		return q.draw(expr, v, form)
	}
	return q.print(v)
}

// metrics returns the names of metrics in the configuration file.
func (q *querying) metrics() (list rules.Metrics, err error) {
	if q.Settings.File == "" {
		return nil, nil
	}
	err = config.Parse(q.Settings.File, config.Section{Key: rules.MetricsKey, Parse: func(n *yaml.Node) (err error) {
		list, err = rules.ParseMetrics(n)
		return err
	}})
	return list, err
}

func (q *querying) request(expr string) (path string, form url.Values, err error) {
	form = url.Values{"query": {expr}}
	if q.limit > 0 {
		form.Set("limit", strconv.Itoa(q.limit))
	}
	if !q.ranges() {
		at := q.Now().Unix()
		if q.at != "" {
			if at, err = attime.InstantISO(q.at, q.Now().In(q.Location())); err != nil {
				return "", nil, fmt.Errorf("%w (%s)", err, cli.TimesHint)
			}
		}
		form.Set("time", strconv.FormatInt(at, 10))
		return "query", form, nil
	}
	from, to := q.start, cmp.Or(q.end, "now")
	if from == "" {
		n, _ := rra.ParseDuration(q.length) // check has read it
		from = fmt.Sprintf("end-%ds", n)
	}
	start, end, err := q.Range(from, to)
	if err != nil {
		return "", nil, err
	}
	step := max(1, (end-start+queriedSteps-1)/queriedSteps)
	if q.step != "" {
		step, _ = rra.ParseDuration(q.step) // check has read it
	}
	for name, n := range map[string]int64{"start": start, "end": end, "step": step} {
		form.Set(name, strconv.FormatInt(n, 10))
	}
	return "query_range", form, nil
}
