package charts_test

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/charts"
	"github.com/rondo-db/rondo/query/graph"
	"github.com/rondo-db/rondo/query/graph/canvas"
	"github.com/rondo-db/rondo/rra"
)

// update writes the charts of the tests into testdata, to be looked at.
var update = flag.Bool("update", false, "write testdata/*.charts")

// readSeries reads a file of testdata: on each line a path, behind it the data sources, those with
// changes a second in the form NAME+, then unit=… and title=….
func readSeries(t testing.TB, name string) []charts.Series {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []charts.Series
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if fields[0] == "" {
			continue
		}
		s := charts.Series{Path: fields[0], CFs: []string{"AVERAGE", "MIN", "MAX"}}
		for _, f := range fields[1:] {
			switch key, value, ok := strings.Cut(f, "="); {
			case !ok:
				name, rate := strings.CutSuffix(f, "+")
				s.Sources = append(s.Sources, charts.Source{Name: name, Rate: rate})
			case key == "unit":
				s.Unit = value
			case key == "title":
				s.Title = value
			case key == "group":
				s.Group = value
			}
		}
		out = append(out, s)
	}
	return out
}

// describe returns charts as lines of text.
func describe(all []charts.Chart) string {
	var b strings.Builder
	for _, c := range all {
		fmt.Fprintf(&b, "%s | %s | %s", c.Group, c.Title, c.Unit)
		if c.Base != 1000 {
			fmt.Fprintf(&b, " base %d", c.Base)
		}
		if !math.IsNaN(c.Lower) {
			fmt.Fprintf(&b, " from %g", c.Lower)
		}
		if !math.IsNaN(c.Upper) {
			fmt.Fprintf(&b, " to %g", c.Upper)
		}
		if c.Stack {
			b.WriteString(" stacked")
		}
		if c.Percent {
			b.WriteString(" shares")
		}
		fmt.Fprintf(&b, "\n    id %s\n", c.ID)
		for _, l := range c.Lines {
			fmt.Fprintf(&b, "    %s %s %s = %s:%s", l.Style, l.Color, l.Label, l.Path, l.DS)
			if l.Factor != 1 {
				fmt.Fprintf(&b, " * %g", l.Factor)
			}
			if l.Offset != 0 {
				fmt.Fprintf(&b, " + %g", l.Offset)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// senders are the names that each sender's real programs have sent.
var senders = []struct{ name, prefix string }{
	{"collectd", "collectd/web1"}, {"ganglia", "ganglia/web1"}, {"rrdd", "rrdd/xcp-rrdd"}, {"mono", "mono/10.0.0.1"}, {"other", ""}, {"own", "rondo"},
}

// The charts of each sender are in testdata, to be read by eye.
func TestChartsOfEachSender(t *testing.T) {
	for _, s := range senders {
		got := describe(charts.Assemble(s.prefix, readSeries(t, s.name+".series")))
		file := filepath.Join("testdata", s.name+".charts")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.name, diff)
		}
	}
}

// Two charts of a host were both called Memory.
func TestChartsOfOneTitleAreToldApart(t *testing.T) {
	for _, s := range senders {
		titles := make(map[string]string)
		for _, c := range charts.Assemble(s.prefix, readSeries(t, s.name+".series")) {
			if other, ok := titles[c.Title]; ok {
				t.Errorf("%s and %s are both called %q", other, c.ID, c.Title)
			}
			titles[c.Title] = c.ID
		}
	}
}

// Every data source must be in a chart: what is not shown is not found.
func TestNoDataSourceIsForgotten(t *testing.T) {
	for _, s := range senders {
		series := readSeries(t, s.name+".series")
		shown := make(map[string]bool)
		ids := make(map[string]bool)
		for _, c := range charts.Assemble(s.prefix, series) {
			if ids[c.ID] {
				t.Errorf("two charts have the ID %s", c.ID)
			}
			ids[c.ID] = true
			if len(c.Lines) == 0 || len(c.Lines) > 16 {
				t.Errorf("%s has %d lines", c.ID, len(c.Lines))
			}
			for _, l := range c.Lines {
				shown[l.Path+":"+l.DS] = true
			}
		}
		for _, x := range series {
			for _, ds := range x.Sources {
				if !shown[x.Path+":"+ds.Name] {
					t.Errorf("%s:%s is in no chart", x.Path, ds.Name)
				}
			}
		}
	}
}

// opened finds the series of a store for a graph.
type opened struct{ store *core.Store }

func (o opened) Open(_ context.Context, name, _ string) (query.Store, core.Ref, error) {
	ref, err := o.store.Lookup(name)
	return o.store, ref, err
}

const epoch = 1_700_000_000

// makeSeries makes series with some samples.
func makeSeries(t testing.TB, s *core.Store, series []charts.Series) {
	t.Helper()
	for _, x := range series {
		args := []string{"RRA:AVERAGE:0.5:1:100", "RRA:MIN:0.5:2:50", "RRA:MAX:0.5:2:50"}
		for _, ds := range x.Sources {
			args = append(args, "DS:"+ds.Name+":GAUGE:20:U:U")
		}
		d, err := rra.ParseDefinition(10, args)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := s.Create(t.Context(), core.Spec{Path: x.Path, Definition: d, Start: rra.Seconds(epoch)})
		if err != nil {
			t.Fatal(err)
		}
		var b core.Batch
		for i := range 5 {
			values := make([]rra.Value, len(x.Sources))
			for j := range values {
				values[j] = rra.Float(float64(i + j))
			}
			b.Add(ref, rra.Seconds(epoch+10*int64(i+1)), values...)
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
}

// draw draws a chart by its arguments.
func draw(t testing.TB, s *core.Store, c *charts.Chart) error {
	t.Helper()
	o := graph.NewOptions(time.Unix(epoch+60, 0))
	var lines []string
	args := append([]string{"--start", fmt.Sprint(epoch), "--end", fmt.Sprint(epoch + 60)}, c.Arguments()...)
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "--")
		if !ok {
			lines = append(lines, args[i])
			continue
		}
		value := ""
		if name != "rigid" {
			i++
			value = args[i]
		}
		if err := o.Set(name, value); err != nil {
			return err
		}
	}
	if err := o.Finish(); err != nil {
		return err
	}
	g, err := graph.New(o, lines)
	if err != nil {
		return err
	}
	if err := g.Run(t.Context(), opened{s}); err != nil {
		return err
	}
	l, err := g.Layout()
	if err != nil {
		return err
	}
	picture, err := canvas.New(canvas.SVG, float64(l.ImageWidth), float64(l.ImageHeight), 1, o.Canvas())
	if err != nil {
		return err
	}
	l.Measure()
	l.Draw(picture, func() bool { return false })
	return l.Failed
}

func TestEveryChartIsDrawn(t *testing.T) {
	for _, x := range senders {
		s := enginetest.Open(t)
		series := readSeries(t, x.name+".series")
		makeSeries(t, s, series)
		for _, c := range charts.Assemble(x.prefix, series) {
			if err := draw(t, s, &c); err != nil {
				t.Errorf("%s: %v\n%s", c.ID, err, strings.Join(c.Arguments(), "\n"))
			}
		}
	}
}
