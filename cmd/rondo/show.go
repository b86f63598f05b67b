package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rrd/attime"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
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

// How many rows show prints by default.
const (
	shownRows   = 15 // in the table
	chartedRows = 60 // in the chart, and in the table of a given range
)

// A showing is a run of rondo show.
type showing struct {
	*common
	format     string
	start, end string
	cf         string
	resolution string
	rows       int // --rows; 0: not given
}

func newShow(c *common) *cobra.Command {
	s := &showing{common: c}
	cmd := &cobra.Command{
		Use:               "show NAME",
		Short:             "Print a series and its recent values",
		Long:              showHelp,
		Args:              takes(1, 1),
		ValidArgsFunction: c.completeOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.check(cmd); err != nil {
				return &usageError{err, "rondo show --help"}
			}
			return s.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.StringVarP(&s.start, "start", "s", "", "`time` after which the rows begin (default: as many rows as fit)")
	f.StringVarP(&s.end, "end", "e", "", "`time` of the last row (default: the last update)")
	f.StringVar(&s.cf, "cf", "", "consolidation `function` of the rows: AVERAGE, MIN, MAX or LAST (default: AVERAGE, else the first archive's)")
	f.StringVarP(&s.resolution, "resolution", "r", "", "`length` of a row: 10s, 5m, 1h (default: a table fits a screen, other formats take the finest)")
	f.IntVarP(&s.rows, "rows", "n", 0, fmt.Sprintf("the `number` of rows, the newest (default: %d, of a range %d; other formats: all)", shownRows, chartedRows))
	addOutput(cmd, &s.format)
	completeFlag(cmd, "cf", functions)
	return cmd
}

// check refuses flags without meaning, and explains a time that is often misunderstood.
func (s *showing) check(cmd *cobra.Command) error {
	if s.rows < 1 && cmd.Flags().Changed("rows") {
		return fmt.Errorf("--rows %d: want 1 or more", s.rows)
	}
	if s.cf != "" && !slices.Contains(functions, strings.ToUpper(s.cf)) {
		return fmt.Errorf("--cf %s: want %s", quoted(s.cf), strings.Join(functions, ", "))
	}
	s.hintMonths(s.start, s.end)
	return nil
}

// hintMonths explains times whose months were probably meant as minutes.
func (c *common) hintMonths(times ...string) {
	for _, text := range times {
		if months.MatchString(text) {
			// If this fails, the hint cannot be delivered.
			_, _ = fmt.Fprintf(c.stderr, "%s: up to 5m, m is months, as to rrdtool; minutes are min\n", quoted(text))
		}
	}
}

// months matches offsets of a few m, which rrdtool reads as months and users often mean as minutes.
var months = regexp.MustCompile(`[-+][0-5]m$`)

func (s *showing) run(ctx context.Context, name string) (err error) {
	o, err := s.target().Must(ctx, core.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, o.Close()) }()
	p, err := newPicker(s.common, o, nil)
	if err != nil {
		return err
	}
	info, err := p.one(ctx, name)
	if err != nil {
		m, failed := p.metadata(ctx, name)
		if m != nil {
			return s.text(m)
		}
		return withoutPrefix(cmp.Or(failed, err))
	}
	req, err := s.request(info)
	if err != nil {
		return err
	}
	v := &view{showing: s, info: info, location: s.location()}
	if req != nil {
		answer, err := p.api.Fetch(ctx, connect.NewRequest(req))
		if err != nil {
			return withoutPrefix(err)
		}
		v.keep(answer.Msg, req)
		v.asked = req.GetResolution()
	}
	if s.format == table.Formats[0] {
		return v.print()
	}
	return v.rows()
}

// location returns the time zone in which times are read and printed.
func (c *common) location() *time.Location {
	if tz := c.getenv("TZ"); tz != "" {
		return rrdtool.Location(tz)
	}
	return time.Local
}

// request returns the request for the rows, or nil if the series has no archive of plain rows.
func (s *showing) request(info *rondov1.InfoResponse) (*rondov1.FetchRequest, error) {
	d := info.GetSeries().GetDefinition()
	def, err := rra.ParseDefinition(d.GetStep(), append(append([]string(nil), d.GetDs()...), d.GetRra()...))
	if err != nil {
		return nil, err
	}
	cf, row, ok := s.function(def)
	if !ok {
		if s.cf != "" {
			return nil, fmt.Errorf("the series has no archive of %s", strings.ToUpper(s.cf))
		}
		return nil, nil
	}
	last := info.GetLastUpdateUs() / 1_000_000
	start, end, err := s.times(last, row)
	if err != nil {
		return nil, err
	}
	resolution := row
	switch {
	case s.resolution != "":
		if resolution, err = rra.ParseDuration(s.resolution); err != nil || resolution < 1 {
			return nil, fmt.Errorf("--resolution %s: want a duration, such as 10s, 5m, 1h", quoted(s.resolution))
		}
	case s.format == table.Formats[0]:
		resolution = max(row, (end-start)/chartedRows)
	}
	return &rondov1.FetchRequest{
		Path: info.GetSeries().GetPath(), Cf: cf.String(),
		Start: strconv.FormatInt(start, 10), End: strconv.FormatInt(end, 10), Resolution: resolution,
	}, nil
}

// function chooses the consolidation function, and returns the seconds of its finest row.
func (s *showing) function(d *rra.Definition) (cf rra.CF, row int64, ok bool) {
	want := rra.Average
	if s.cf != "" {
		var err error
		if want, err = rra.ParseCF(strings.ToUpper(s.cf)); err != nil {
			return 0, 0, false
		}
	}
	for i := range d.Archives {
		a := &d.Archives[i]
		if a.CF > rra.Last || s.cf != "" && a.CF != want && a.PDPs > 1 {
			continue
		}
		length := a.PDPs * d.Step
		better := !ok || (a.CF == want) != (cf == want) && a.CF == want || (a.CF == want) == (cf == want) && length < row
		if better {
			cf, row, ok = a.CF, length, true
		}
	}
	if s.cf != "" {
		cf = want
	}
	return cf, row, ok
}

// times returns the requested range. By default it ends with the last row and has as many rows as a
// chart.
func (s *showing) times(last, row int64) (start, end int64, err error) {
	now, location := s.now(), s.location()
	closed := last - last%row
	if s.start == "" && s.end == "" {
		return max(0, closed-chartedRows*row), closed, nil
	}
	from, to := s.start, s.end
	if to == "" {
		to = "now"
	}
	if from == "" {
		from = fmt.Sprintf("end-%ds", chartedRows*row)
	}
	if from, err = attime.FromISO(from, location); err == nil {
		to, err = attime.FromISO(to, location)
	}
	if err == nil {
		start, end, err = attime.ParsePair(from, to, now.In(location))
	}
	if s.end == "" && closed > start { // behind the last update there are no rows
		end = min(end, closed)
	}
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("%w (%s)", err, timesHint)
	case start < 0 || end < start:
		return 0, 0, fmt.Errorf("the range ends (%s) before it starts (%s)", stamp(end, location), stamp(start, location))
	}
	return start, end, nil
}

// timesHint ends the error of a time that cannot be read.
const timesHint = `times are like 2026-11-20, 2026-11-20T15:04, 07:00, midnight, -1h, "-2 hours", or seconds since 1970`

// stamp prints a time for people.
func stamp(second int64, location *time.Location) string {
	return time.Unix(second, 0).In(location).Format("2006-01-02 15:04:05")
}

// A view is a series with its rows, to be printed.
type view struct {
	*showing
	info     *rondov1.InfoResponse
	location *time.Location
	cf       string
	step     int64
	asked    int64   // the requested seconds a row
	ends     []int64 // the times at which the rows end
	columns  []*rondov1.Column
}

// keep keeps the rows of an answer that lie in the requested range, beginning with the first known
// one.
func (v *view) keep(m *rondov1.FetchResponse, req *rondov1.FetchRequest) {
	v.cf, v.step, v.columns = req.GetCf(), m.GetStep(), m.GetColumns()
	end, _ := strconv.ParseInt(req.GetEnd(), 10, 64) // written by request
	rows := int((m.GetEnd() - m.GetStart()) / max(1, v.step))
	for len(v.columns) > 0 && rows > 0 && m.GetStart()+int64(rows)*v.step > end {
		rows--
	}
	first := 0
	if v.start == "" {
		for first < rows && !v.known(first) {
			first++
		}
	}
	for _, c := range v.columns {
		c.Values = c.GetValues()[first:rows]
	}
	for i := first; i < rows; i++ {
		v.ends = append(v.ends, m.GetStart()+int64(i+1)*v.step)
	}
}

// known reports whether a row has a known value.
func (v *view) known(row int) bool {
	for _, c := range v.columns {
		if !math.IsNaN(c.GetValues()[row]) {
			return true
		}
	}
	return false
}

// rows prints all rows for a program.
func (v *view) rows() error {
	names := []string{"time"}
	for _, c := range v.columns {
		names = append(names, c.GetDs())
	}
	w, err := table.New(v.stdout, v.format, names...)
	if err != nil {
		return err
	}
	for i, end := range v.ends {
		if n := v.showing.rows; n > 0 && i < len(v.ends)-n {
			continue
		}
		row := []any{time.Unix(end, 0).UTC().Format(time.RFC3339)}
		for _, c := range v.columns {
			if x := c.GetValues()[i]; math.IsNaN(x) || math.IsInf(x, 0) {
				row = append(row, unknownCell{x})
			} else {
				row = append(row, x)
			}
		}
		if err := w.Row(row...); err != nil {
			return err
		}
	}
	return w.Close()
}

// An unknownCell is a value that JSON has no number for. In JSON an unknown value is null and an
// infinite one a text; other formats leave an unknown value empty.
type unknownCell struct{ value float64 }

func (u unknownCell) String() string {
	if math.IsNaN(u.value) {
		return ""
	}
	return strconv.FormatFloat(u.value, 'g', -1, 64)
}

// MarshalJSON writes null, or the text of an infinite value.
func (u unknownCell) MarshalJSON() ([]byte, error) {
	if math.IsNaN(u.value) {
		return []byte("null"), nil
	}
	return []byte(strconv.Quote(u.String())), nil
}
