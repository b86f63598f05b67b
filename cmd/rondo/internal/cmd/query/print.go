package query

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/rondo-db/rondo/cmd/rondo/internal/chart"
	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
)

// A queried is one series of the result of a query. A scalar or a text is a series without labels.
type queried struct {
	Metric model.Metric
	Value  *point
	Values []point
}

// A point is a time and a value.
type point struct {
	at   time.Time
	text string
}

// UnmarshalJSON reads [seconds, "value"].
func (p *point) UnmarshalJSON(b []byte) error {
	pair := []any{new(json.Number), &p.text}
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("a point of %d parts", len(pair))
	}
	seconds, err := pair[0].(*json.Number).Float64()
	p.at = time.UnixMilli(int64(math.Round(seconds * 1000)))
	return err
}

// A reading is a value for the formats: as it is in text, and in JSON a number if JSON has it.
type reading string

// MarshalJSON writes a number, or a string.
func (n reading) MarshalJSON() ([]byte, error) {
	if v, err := strconv.ParseFloat(string(n), 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return json.Marshal(v)
	}
	return json.Marshal(string(n))
}

// readQueried reads the data of an answer.
func readQueried(data []byte) ([]queried, error) {
	var d struct {
		ResultType string
		Result     json.RawMessage
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	var all []queried
	var err error
	if d.ResultType == "scalar" || d.ResultType == "string" {
		all = []queried{{Metric: model.Metric{}, Value: new(point)}}
		err = json.Unmarshal(d.Result, all[0].Value)
	} else {
		err = json.Unmarshal(d.Result, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	for i := range all {
		if p := all[i].Value; p != nil {
			all[i].Values = append(all[i].Values, *p)
		}
	}
	return all, nil
}

// print prints a line for each value.
func (q *querying) print(all []queried) error {
	w := table.New(q.Stdout, q.format, "series", "time", "value")
	location := q.Location()
	for _, s := range all {
		for _, p := range s.Values {
			at := p.at.UTC().Format(time.RFC3339Nano)
			if q.format == table.Formats[0] {
				at = p.at.In(location).Format("2006-01-02 15:04:05.999")
			}
			w.Row(s.Metric, at, reading(p.text))
		}
	}
	return w.Close()
}

// draw draws the series over the range of a request.
func (q *querying) draw(expr string, all []queried, form url.Values) error {
	look := q.Look(q.Stdout, q.LookFlags)
	bound := func(name string) int64 {
		n, _ := strconv.ParseInt(form.Get(name), 10, 64) // request has written it
		return n
	}
	step := max(1, bound("step"))
	c := &chart.Chart{
		Title: cli.OneLine(expr), Start: bound("start") - step, End: bound("end"), Location: q.Location(),
		Width: look.Width, Height: look.Height, ASCII: look.ASCII, Plain: look.Colors == chart.NoColors,
	}
	if len(all) > cli.MostLines {
		return fmt.Errorf("the result has %d series, at most %d can be drawn: give --limit, or aggregate", len(all), cli.MostLines)
	}
	n := (bound("end")-bound("start"))/step + 1
	for _, s := range all {
		rows := chart.Rows{Start: c.Start, Step: step, Values: make([]float64, n)}
		for i := range rows.Values {
			rows.Values[i] = math.NaN()
		}
		for _, p := range s.Values {
			i := (p.at.Unix() - bound("start")) / step
			if v, err := strconv.ParseFloat(p.text, 64); err == nil && i >= 0 && i < n {
				rows.Values[i] = v
			}
		}
		c.Lines = append(c.Lines, chart.Line{Name: cli.OneLine(s.Metric.String()), Rows: rows})
	}
	if len(all) == 0 {
		return fmt.Errorf("%s has no values from %s to %s", cli.Quoted(expr), cli.Stamp(bound("start"), c.Location), cli.Stamp(bound("end"), c.Location))
	}
	c.Notes = append(c.Notes, cli.RangeText(c))
	return chart.Draw(c).Print(cli.Bare(q.Stdout), look.Colors)
}
