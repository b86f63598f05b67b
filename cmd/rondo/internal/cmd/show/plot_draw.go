package show

import (
	"context"
	"fmt"
	"strconv"

	"github.com/rondo-db/rondo/cmd/rondo/internal/backend"
	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
)

// draw returns the chart of the named series.
func (p *plotting) draw(ctx context.Context, o *backend.Database, names []string, look cli.Look) (*chart.Chart, error) {
	lines, err := p.lines(ctx, o, names)
	if err != nil {
		return nil, err
	}
	start, end, err := p.times(lines)
	if err != nil {
		return nil, err
	}
	c := &chart.Chart{
		Start: start, End: end, Location: p.Location(),
		Width: look.Width, Height: look.Height, ASCII: look.ASCII, Plain: look.Colors == chart.NoColors,
		Lower: limit(p.lower), Upper: limit(p.upper),
		Log: p.log, Stack: p.stack, Binary: p.binary, NoLegend: p.noLegend,
	}
	step, err := p.fetch(ctx, o.API(), lines, c)
	if err != nil {
		return nil, err
	}
	p.entitle(c, lines, step)
	return c, nil
}

// times returns the range of the chart.
func (p *plotting) times(lines []*plotLine) (start, end int64, err error) {
	from, to := p.start, p.end
	length := int64(leastPlotted)
	newest := int64(0)
	for _, l := range lines {
		length = max(length, plottedRows*l.row)
		newest = max(newest, l.last)
	}
	if to == "" {
		to = "now"
		if from == "" && newest < p.Now().Unix()-length {
			to = strconv.FormatInt(newest, 10)
		}
	}
	if from == "" {
		from = fmt.Sprintf("end-%ds", length)
	}
	if start, end, err = p.Range(from, to); err == nil && end == start {
		err = fmt.Errorf("the range ends where it starts (%s)", cli.Stamp(start, p.Location()))
	}
	start, end = p.shift.apply(start, end)
	return start, end, err
}
