// Package show has the commands that print or draw what a database has: show, plot, top, stats,
// notes and metadata.
package show

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
)

const showHelp = `Print what a series is and its recent values: a line of each data source, with a small chart, and the newest rows with their
times. Rows that are not known are left out of the chart, and are "-" in the table, where several together are one line.

  rondo show collectd/web1/load/load                      the newest rows
  rondo show router/eth0 -s -1d                           a day, in rows that fit a screen
  rondo show router/eth0 -s 2026-11-20 -e 2026-11-21T12:00 --cf MAX
  rondo show router/eth0 -s -1h -o csv                    every row, for a program

Times are ISO (2026-11-20, 2026-11-20T15:04:05, with Z or +01:00 or in the time zone of TZ), seconds since 1970, or rrdtool's (-1h,
-1d, "now - 2 hours", midnight), where -5m are five months, as to rrdtool: write -5min. A length after -r is no time: 5m are
minutes there. -o json, jsonl, csv and tsv print all rows of the range as they are stored, with times in UTC.`

func NewShow(c *cli.Factory) *cobra.Command {
	s := &showing{Factory: c}
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Print a series and its recent values",
		Long:              showHelp,
		Args:              cli.Takes(1, 1),
		ValidArgsFunction: c.CompleteOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd); err != nil {
				return cli.Misused("show", err)
			}
			return s.Target().Read(cmd.Context(), func(db *backend.Database) error { return s.run(cmd.Context(), db, args[0]) })
		},
	}
	f := cmd.Flags()
	f.StringVarP(&s.start, "start", "s", "", "`time` after which the rows begin (default: as many rows as fit)")
	f.StringVarP(&s.end, "end", "e", "", "`time` of the last row (default: the last update)")
	cli.AddFunction(cmd, &s.cf)
	f.StringVarP(&s.resolution, "resolution", "r", "", "`length` of a row: 10s, 5m, 1h (default: a table fits a screen, other formats take the finest)")
	f.IntVarP(&s.rows, "rows", "n", 0, fmt.Sprintf("the `number` of rows, the newest (default: %d, of a range %d; other formats: all)", shownRows, chartedRows))
	cli.AddOutput(cmd, &s.format)
	return cmd
}

// check refuses flags without meaning, and explains a time that is often misunderstood.
func (s *showing) check(cmd *cobra.Command) error {
	if s.rows < 1 && cmd.Flags().Changed("rows") {
		return fmt.Errorf("--rows %d: want 1 or more", s.rows)
	}
	s.HintMonths(s.start, s.end)
	return nil
}

func (s *showing) run(ctx context.Context, db *backend.Database, name string) error {
	p, err := cli.NewPicker(s.Factory, db)
	if err != nil {
		return err
	}
	info, err := p.Exactly(ctx, name)
	if err != nil {
		m, failed := p.Metadata(ctx, name)
		if m != nil {
			return s.text(m)
		}
		if failed == nil && errors.Is(err, core.ErrNotFound) {
			err = p.Missing(ctx, name)
		}
		return cli.WithoutPrefix(cmp.Or(failed, err))
	}
	req, err := s.request(info)
	if err != nil {
		return err
	}
	v := &view{showing: s, info: info, location: s.Location()}
	if req != nil {
		rows, err := s.fetch(ctx, p.API, req)
		if err != nil {
			return err
		}
		v.keep(rows, req)
		v.asked = req.GetResolution()
	}
	if s.format == table.Formats[0] {
		return v.print()
	}
	return v.rows()
}

// fetch returns the rows for a request: as they are stored for a program, and joined for people.
func (s *showing) fetch(ctx context.Context, api rondov1.RondoCalls, req *rondov1.FetchRequest) (*rondov1.FetchResponse, error) {
	if s.format == table.Formats[0] {
		return joined(ctx, api, req, 0)
	}
	answer, err := api.Fetch(ctx, req)
	if err != nil {
		return nil, cli.WithoutPrefix(err)
	}
	return answer, nil
}

// joined returns rows that all archives of a series give together: points of them, or if that is 0
// as many as the resolution wants.
func joined(ctx context.Context, api rondov1.RondoCalls, req *rondov1.FetchRequest, points int) (*rondov1.FetchResponse, error) {
	answer, err := api.FetchMany(ctx, &rondov1.FetchManyRequest{
		Select: []*rondov1.Selection{{Path: req.GetPath(), Cf: req.GetCf()}},
		Start:  req.GetStart(), End: req.GetEnd(), Resolution: req.GetResolution(), MaxPoints: int32(points),
	})
	if err != nil {
		return nil, cli.WithoutPrefix(err)
	}
	if len(answer.GetResults()) != 1 {
		return nil, errors.New("the server's answer does not fit together")
	}
	x := answer.GetResults()[0]
	if x.GetError() != "" {
		return nil, errors.New(x.GetError())
	}
	return x.GetRows(), nil
}
