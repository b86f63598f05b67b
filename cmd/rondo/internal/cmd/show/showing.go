package show

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/rondo-db/rondo/cmd/rondo/internal/cli"
	"github.com/rondo-db/rondo/cmd/rondo/internal/table"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/rra"
)

// How many rows show prints by default.
const (
	shownRows   = 15 // in the table
	chartedRows = 60 // in the chart, and in the table of a given range
)

// A showing is a run of rondo show.
type showing struct {
	*cli.Factory
	format     string
	start, end string
	cf         string
	resolution string
	rows       int // --rows; 0: not given
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
			return nil, fmt.Errorf("the series has no archive of %s", s.cf)
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
			return nil, fmt.Errorf("--resolution %s: want a duration, such as 10s, 5m, 1h", cli.Quoted(s.resolution))
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
		if want, err = rra.ParseCF(s.cf); err != nil {
			return 0, 0, false
		}
	}
	i := query.Finest(d, want)
	if i < 0 || s.cf != "" && d.Archives[i].CF != want && d.Archives[i].PDPs > 1 {
		return 0, 0, false
	}
	if s.cf == "" {
		want = d.Archives[i].CF
	}
	return want, d.Archives[i].PDPs * d.Step, true
}

// times returns the requested range. By default it ends with the last row, for people with the last
// update, and has as many rows as a chart.
func (s *showing) times(last, row int64) (start, end int64, err error) {
	newest := last - last%row
	begin := newest - chartedRows*row
	if s.format == table.Formats[0] {
		newest = last
	}
	if s.start == "" && s.end == "" {
		return max(0, begin), newest, nil
	}
	from, to := cmp.Or(s.start, fmt.Sprintf("end-%ds", chartedRows*row)), cmp.Or(s.end, "now")
	start, end, err = s.Range(from, to)
	if s.end == "" && newest > start { // behind the last update there are no rows
		end = min(end, newest)
	}
	return start, end, err
}
