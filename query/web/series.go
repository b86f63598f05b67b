package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/rondo-db/rondo/internal/quantity"
	"github.com/rondo-db/rondo/query/rpc/rondov1"
	"github.com/rondo-db/rondo/query/rpc/types/typesv1"
)

// A row is one row of the table of a series.
type row struct {
	At     int64 // microseconds since 1970
	Values []string
}

func (s *Server) series(r *http.Request, path string) *page {
	ctx := r.Context()
	path, v := clean(path), viewOf(r.URL.Query())
	data := struct {
		Path, Problem string
		Choices       []choice
		Images        []image
		Formats       []choice
		Info          *rondov1.InfoResponse
		Columns       []string
		Rows          []row
		Notes         []*typesv1.Note
		Args          []string
	}{Path: path}
	p := &page{title: path + " · rondo", name: "series"}
	info, err := begin(ctx, p, "Info", s.RPC.Info, &rondov1.InfoRequest{Path: path})
	if err != nil {
		p.code, data.Problem = codeOf(err), problem(err)
		p.data = data
		return p
	}
	s.firstRows(r, p, path, info)
	var charts *rondov1.ChartsResponse
	if i := strings.LastIndexByte(path, '/'); i > 0 { // for unit and colours, which may be missing
		charts, _ = begin(ctx, p, "Charts", s.RPC.Charts, &rondov1.ChartsRequest{Prefix: path[:i], Limit: 200})
	}
	data.Info, data.Path = info, info.GetSeries().GetPath()
	data.Args = seriesGraph(info)
	data.Choices = choices(pathLink("series", path), v.from, v.row)
	data.Images = images(data.Path, data.Args, v.from, v.to, v.row)
	for _, f := range []string{"png", "pdf", "csv", "json"} {
		data.Formats = append(data.Formats, choice{Name: f, Link: graphLink(f, data.Args, v.from, v.to, 700, 150)})
	}
	latest, err := s.RPC.Latest(ctx, &rondov1.LatestRequest{Paths: []string{data.Path}, Rows: plainRows})
	data.Problem = problem(err)
	for _, x := range latest.GetSeries() {
		data.Columns, data.Rows = newest(x, unitOf(info, charts))
	}
	notes, err := s.RPC.Notes(ctx, &rondov1.NotesRequest{Key: data.Path})
	data.Notes, data.Problem = notes.GetNotes(), cmp.Or(data.Problem, problem(err))
	p.data = data
	return p
}

// unitOf returns the unit of a series: as its sender says, or the charts of its folder.
func unitOf(info *rondov1.InfoResponse, charts *rondov1.ChartsResponse) string {
	for _, a := range info.GetMetadata().GetAttributes() {
		if name := strings.ToLower(a.GetName()); name == "units" || name == "unit" {
			return a.GetValue()
		}
	}
	for _, c := range charts.GetCharts() {
		for _, l := range c.GetLines() {
			if l.GetPath() == info.GetSeries().GetPath() && !c.GetPercent() && l.GetOffset() == 0 && math.Abs(l.GetFactor()) == 1 {
				return c.GetUnit()
			}
		}
	}
	return ""
}

// newest returns the columns and the rows of a series, the newest row first. Values of a column
// have the same prefix and decimals.
func newest(x *rondov1.LatestSeries, unit string) (columns []string, rows []row) {
	n := 0
	var scales []quantity.Scale
	for _, c := range x.GetColumns() {
		columns, scales = append(columns, c.GetDs()), append(scales, quantity.Of(unit, 0, c.GetValues()...))
		n = max(n, len(c.GetValues()))
	}
	for i := n - 1; i >= 0; i-- {
		w := row{At: (x.GetEnd() - int64(n-1-i)*x.GetStep()) * 1e6}
		for k, c := range x.GetColumns() {
			if values := c.GetValues(); i < len(values) {
				w.Values = append(w.Values, scales[k].Text(values[i]))
			}
		}
		rows = append(rows, w)
	}
	return columns, rows
}

// colors are the colours of the lines in a series' graph, in the order of its data sources.
var colors = []string{"#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#bf3989", "#0a7ea4", "#57606a"}

// seriesGraph returns the graph of a series: a line for each data source, of the first eight.
func seriesGraph(info *rondov1.InfoResponse) []string {
	cf := "AVERAGE"
	rras := info.GetSeries().GetDefinition().GetRra()
	if len(rras) > 0 && !strings.HasPrefix(strings.Join(rras, "\n")+"\n", "RRA:AVERAGE") && !strings.Contains(strings.Join(rras, "\n"), "\nRRA:AVERAGE") {
		if parts := strings.Split(rras[0], ":"); len(parts) > 1 {
			cf = parts[1]
		}
	}
	var defs, lines []string
	for i, x := range info.GetSources() {
		if i == len(colors) {
			break
		}
		name := escapeColons.Replace(x.GetName())
		defs = append(defs, fmt.Sprintf("DEF:v%d=%s:%s:%s", i, escapeColons.Replace(info.GetSeries().GetPath()), name, cf))
		lines = append(lines, fmt.Sprintf("LINE1:v%d%s:%s", i, colors[i], name))
	}
	return append(defs, lines...)
}
