package show

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// fetch gives the chart its lines. Rows of a series are fetched once for all of its data sources.
// It returns the seconds of a row, or 0 if they differ.
func (p *plotting) fetch(ctx context.Context, api rondov1.RondoCalls, lines []*plotLine, c *chart.Chart) (step int64, err error) {
	names := lineNames(lines)
	withBand := p.band == "always" || p.band == "auto" && len(lines) == 1
	var rows map[string]*rondov1.FetchResponse // of the series at hand, by function
	path := ""
	for i, l := range lines {
		if l.path != path {
			path, rows = l.path, make(map[string]*rondov1.FetchResponse)
		}
		get := func(cf rra.CF) (chart.Rows, error) {
			return fetchLine(ctx, api, l, cf, c, rows)
		}
		s := showing{Factory: p.Factory, cf: p.cf}
		cf, _, ok := s.function(l.def)
		if !ok {
			return 0, fmt.Errorf("the series %s has no archive of %s", cli.Quoted(l.path), cmp.Or(p.cf, "plain rows"))
		}
		line := chart.Line{Name: names[i], Merge: merge(cf)}
		if line.Rows, err = get(cf); err != nil {
			return 0, err
		}
		if withBand && !p.stack && keeps(l.def, rra.Min) && keeps(l.def, rra.Max) && cf != rra.Min && cf != rra.Max {
			if line.Low, err = get(rra.Min); err == nil {
				line.High, err = get(rra.Max)
			}
			if err != nil {
				return 0, err
			}
		}
		switch {
		case i == 0:
			step = line.Rows.Step
		case step != line.Rows.Step:
			step = 0
		}
		c.Lines = append(c.Lines, line)
	}
	return step, nil
}

// fetchLine returns the rows of a data source by a consolidation function.
func fetchLine(ctx context.Context, api rondov1.RondoCalls, l *plotLine, cf rra.CF, c *chart.Chart, rows map[string]*rondov1.FetchResponse) (chart.Rows, error) {
	answer := rows[cf.String()]
	if answer == nil {
		var err error
		answer, err = joined(ctx, api, &rondov1.FetchRequest{
			Path: l.path, Cf: cf.String(), Start: strconv.FormatInt(c.Start, 10), End: strconv.FormatInt(c.End, 10),
		}, 2*max(1, c.Width))
		if err != nil {
			return chart.Rows{}, err
		}
		rows[cf.String()] = answer
	}
	for _, column := range answer.GetColumns() {
		if column.GetDs() == l.ds {
			return chart.Rows{Start: answer.GetStart(), Step: answer.GetStep(), Values: column.GetValues()}, nil
		}
	}
	return chart.Rows{}, fmt.Errorf("series %s has no data source %s any more", cli.Quoted(l.path), cli.Quoted(l.ds))
}

// keeps reports whether a series has an archive of a function.
func keeps(d *rra.Definition, cf rra.CF) bool {
	for i := range d.Archives {
		if d.Archives[i].CF == cf {
			return true
		}
	}
	return false
}

// merge returns what a dot column shows of several rows.
func merge(cf rra.CF) chart.Merge {
	switch cf {
	case rra.Min:
		return chart.Least
	case rra.Max:
		return chart.Greatest
	case rra.Last:
		return chart.Newest
	}
	return chart.Mean
}

// lineNames returns the names of lines for the legend: without the folders that all paths begin
// with, and without the data source of a series that has only one.
func lineNames(lines []*plotLine) []string {
	folder := commonFolder(lines)
	same := true
	for _, l := range lines {
		same = same && l.path == lines[0].path
	}
	names := make([]string, len(lines))
	for i, l := range lines {
		switch {
		case same:
			names[i] = cli.OneLine(l.ds)
		case l.alone:
			names[i] = cli.OneLine(l.path[len(folder):])
		default:
			names[i] = cli.OneLine(l.path[len(folder):] + ":" + l.ds)
		}
	}
	return names
}

// commonFolder returns the folder, with a slash behind, in which all series are. It may be empty.
func commonFolder(lines []*plotLine) string {
	folder := lines[0].path[:strings.LastIndexByte(lines[0].path, '/')+1]
	for _, l := range lines {
		for !strings.HasPrefix(l.path, folder) {
			folder = folder[:strings.LastIndexByte(strings.TrimSuffix(folder, "/"), '/')+1]
		}
	}
	return folder
}

// entitle gives a chart its heading: the series or their folder, the unit, what the rows are, and
// the range.
func (p *plotting) entitle(c *chart.Chart, lines []*plotLine, step int64) {
	c.Title = cli.OneLine(lines[0].path)
	unit := lines[0].unit
	for _, l := range lines {
		if l.path != lines[0].path {
			c.Title = cli.OneLine(cmp.Or(strings.TrimSuffix(commonFolder(lines), "/"), "/"))
		}
		if l.unit != unit {
			unit = ""
		}
	}
	if unit != "" {
		c.Unit, c.Notes = unit, append(c.Notes, "["+unit+"]")
	}
	s := showing{Factory: p.Factory, cf: p.cf}
	if cf, _, ok := s.function(lines[0].def); ok && step > 0 {
		c.Notes = append(c.Notes, fmt.Sprintf("%s of %s", cf, rra.FormatDuration(step)))
	}
	c.Notes = append(c.Notes, cli.RangeText(c))
}
