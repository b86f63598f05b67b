package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/live"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/cmd/rondo/internal/top"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const topHelp = `Show live what changes most: a line for each data source with its newest row, how much that differs from the row before, its
age, and a sparkline of its newest rows.

  rondo top                          everything
  rondo top collectd/web1            what is below a folder
  rondo top --filter 'cpu user'      names with both words
  rondo top --sort age               what has been silent for longest
  rondo top --once -n 20             one table, for scripts; also --json, -o csv

CHANGE is in percent of the larger of the two rows, so that it is at most 100 % (200 % if the sign changes too); PER SEC is the difference
in units a second. Sorted by change, the line comes first whose newest row is most unlike the rows before: how far it lies from their mean,
measured by how they spread. Keys sort by them (c, r) and by value (v), name (n) and age (a), and the same key again turns the order round. / filters,
the arrows move, enter plots a line, space pauses, ? helps and q quits.

The lines on the screen are read again every two seconds (--interval). All others follow as fast as a fifth of the time allows: with very many
series a few seconds later.`

// How much is read at once.
const (
	topPage     = 2000                   // series in a request
	topRows     = 16                     // rows of each, which say how far it spreads
	topShare    = 5                      // one part in so many of the time is spent reading
	topFirst    = 300 * time.Millisecond // of reading before the screen is drawn, in the first pass
	topInterval = 2 * time.Second
)

// A topRun is a run of rondo top.
type topRun struct {
	*cli.Factory
	format   string
	once     bool
	sort     string
	reverse  bool
	filter   string
	rows     int
	ascii    bool
	interval cli.Duration
}

func NewTop(c *cli.Factory) *cobra.Command {
	t := &topRun{Factory: c, interval: cli.Duration(topInterval)}
	cmd := &cobra.Command{
		Use:               "top [FOLDER]",
		Short:             "Show live what changes most",
		Long:              topHelp,
		Args:              cli.Takes(0, 1),
		ValidArgsFunction: c.CompleteOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.check(cmd); err != nil {
				return cli.Misused("top", err)
			}
			return t.run(cmd.Context(), strings.Join(args, ""))
		},
	}
	f := cmd.Flags()
	f.BoolVar(&t.once, "once", false, "print one table and end")
	cli.AddChoice(cmd, &t.sort, top.Keys[0], "sort", "", top.Keys, "the `key` to sort by: "+strings.Join(top.Keys, ", "))
	f.BoolVar(&t.reverse, "reverse", false, "turn the order round")
	f.StringVar(&t.filter, "filter", "", "only names with these `words`")
	f.IntVarP(&t.rows, "rows", "n", 0, "with --once, the `number` of lines (default: all)")
	f.VarP(&t.interval, "interval", "i", "how often the screen is brought up to date")
	f.BoolVar(&t.ascii, "ascii", false, "ASCII characters only (default: if the locale is not UTF-8)")
	cli.AddOutput(cmd, &t.format)
	return cmd
}

// check refuses flags without meaning.
func (t *topRun) check(cmd *cobra.Command) error {
	f := cmd.Flags()
	switch {
	case f.Changed("rows") && t.rows < 1:
		return fmt.Errorf("--rows %d: want 1 or more", t.rows)
	case time.Duration(t.interval) < 100*time.Millisecond:
		return fmt.Errorf("--interval %s: want 100ms or more", &t.interval)
	}
	t.once = t.once || f.Changed("output") || f.Changed("json") || f.Changed("rows")
	return nil
}

func (t *topRun) run(ctx context.Context, folder string) (err error) {
	if !t.once && !cli.IsTerminal(t.Stdout) {
		return cli.Misused("top", errors.New("top needs a terminal; --once prints one table"))
	}
	u := &repeatReader{target: t.Target()}
	defer func() { err = cmp.Or(err, u.close()) }()
	s := &topScreen{topRun: t, reader: u, view: top.View{Model: &top.Model{}, ASCII: t.ascii || !t.UTF8()}}
	s.view.Now = func() time.Time { return t.Now().In(t.Location()) }
	s.view.Model.Sort, s.view.Model.Reverse, s.view.Model.Filter = top.Key(slices.Index(top.Keys, t.sort)), t.reverse, t.filter
	if err := s.find(ctx, folder); err != nil {
		return err
	}
	if t.once {
		return t.print(ctx, s)
	}
	return ended(live.Run(ctx, s, live.Options{Every: s.every}))
}

// find sets the prefix of the paths that a folder means, which must have series.
func (s *topScreen) find(ctx context.Context, folder string) error {
	return s.reader.with(ctx, func(o *backend.Database) error {
		p, err := cli.NewPicker(s.Factory, o)
		if err != nil || folder == "" {
			return err
		}
		path, err := p.Path(folder)
		if err != nil {
			return err
		}
		s.prefix = cli.FolderOf(path)
		if series, err := p.Page(ctx, &rondov1.ListRequest{Prefix: s.prefix, Limit: 1, Brief: true}); err != nil || len(series) > 0 {
			return err
		}
		if _, err := p.One(ctx, folder); err != nil {
			return cli.WithoutPrefix(err)
		}
		s.prefix = path
		return nil
	})
}

// print prints one table.
func (t *topRun) print(ctx context.Context, s *topScreen) error {
	s.put(s.read(ctx, nil, "", math.MaxInt64))
	if s.view.Err != nil {
		return s.view.Err
	}
	lines := s.view.Model.Shown()
	if t.rows > 0 {
		lines = lines[:min(len(lines), t.rows)]
	}
	if t.format == table.Formats[0] {
		return t.forPeople(lines)
	}
	w := table.New(t.Stdout, t.format, "path", "ds", "value", "unit", "change_percent", "rate", "last_update")
	for _, l := range lines {
		at := time.UnixMicro(l.LastUS).UTC().Format(time.RFC3339)
		w.Row(l.Path, l.DS, numberCell(l.Value), l.Unit, numberCell(l.Change), numberCell(l.Rate), at)
	}
	return w.Close()
}

// numberCell returns a value as a cell of a table.
func numberCell(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return unknownCell{v}
	}
	return v
}

func (t *topRun) forPeople(lines []*top.Line) error {
	w := table.New(t.Stdout, t.format, "name", "value", "change", "per sec", "age")
	for _, l := range lines {
		w.Row(l.Name, top.Number(l.Value, l.Unit), top.Percent(l.Change), top.Number(l.Rate, l.Unit), top.Age(l.LastUS, t.Now()))
	}
	return w.Close()
}
