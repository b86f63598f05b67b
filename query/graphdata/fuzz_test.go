package graphdata_test

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/query"
	"github.com/rondo-db/rondo/query/graphdata"
	"github.com/rondo-db/rondo/query/rrd/numeral"
	"github.com/rondo-db/rondo/rra"
)

// ramp is a series with two data sources: the number of the row, and unknown at every fifth.
type ramp struct{ d *rra.Definition }

const rampLast = 1200003000

func newRamp(t testing.TB) *ramp {
	t.Helper()
	d, err := rra.ParseDefinition(10, []string{"DS:x:GAUGE:20:U:U", "DS:y:GAUGE:20:U:U", "DS:recipienthostsdomai:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:200", "RRA:MAX:0.5:6:100"})
	if err != nil {
		t.Fatal(err)
	}
	return &ramp{d}
}

func (s *ramp) Open(_ context.Context, name, _ string) (query.Store, core.Ref, error) {
	if name != "a" {
		return nil, 0, core.ErrNotFound
	}
	return s, 1, nil
}

func (s *ramp) Info(core.Ref) (core.Info, error) {
	m, err := rra.Compile(s.d)
	if err != nil {
		return core.Info{}, err
	}
	return core.Info{Series: core.Series{Definition: s.d}, Machine: m, State: m.NewState(rra.Seconds(rampLast))}, nil
}

func (s *ramp) Fetch(_ context.Context, _ core.Ref, archive int, start, end int64) (core.Rows, error) {
	step := s.d.Step * s.d.Archives[archive].PDPs
	out := core.Rows{Start: start - start%step, End: end, Step: step, DS: []string{"x", "y", "recipienthostsdomai"}}
	for at := out.Start + step; at <= end; at += step {
		k := float64((at - 1200000000) / step)
		y := k
		if math.Mod(k, 5) == 0 {
			y = math.NaN()
		}
		out.Values = append(out.Values, k, y, -k)
	}
	return out, nil
}

func FuzzProgram(f *testing.F) {
	f.Add("DEF:a=a:x:AVERAGE\nCDEF:b=a,2,*\nVDEF:v=b,95,PERCENT\nSHIFT:b:v\nXPORT:b:leg")
	f.Add("DEF:vname=a:rrd=a:ds=y:cf=MAX:step=60:reduce=LAST\nCDEF:c=a,PREV(a),TIME,+,-\nXPORT:c")
	f.Add("DEF:a=a:x:AVERAGE:start=end-1h:end=1200000000\nSHIFT:a:-9223372036854775808\nXPORT:a") // shifts that no time holds
	f.Add("DEF:a=a:x:AVERAGE\nSHIFT:a:9223372036854775807\nCDEF:b=a,DUP,+\nXPORT:b")
	f.Add("DEF:a=a:x:AVERAGE:step=2147483647\nDEF:b=a:y:MAX\nCDEF:c=a,b,+\nXPORT:c") // steps whose product does not fit
	f.Add("DEF:a=a:x:AVERAGE:step=9223372036854775807\nXPORT:a")
	f.Add("DEF:a=a:x:AVERAGE:end=20371231\nXPORT:a") // a range of years
	f.Add(`DEF:a\:b=a:x:AVERAGE` + "\n" + `XPORT:a\:b:x=\::legend=`)
	f.Add("DEF:a=a:x:AVERAGE\nVDEF:m=a,MAXIMUM\nPRINT:m:%12.3lf%s\nGPRINT:a:MIN:%lg%S\nPRINT:m:%A %-10d %Ex:strftime\nLINE1:a#fff:x:STACK\nSTACK:a\nTICK:a:1\nHRULE:m:dashes=1,2")
	f.Add("DEF:a=a:x:AVERAGE\nGPRINT:a:MIN:%99999999999.99999999999lE\nPRINT:a:LAST:%99999999999c%_999999Y:strftime\nCOMMENT:x\nTEXTALIGN:left\nVRULE:1#zz")
	f.Add("DEF\nDEF:\nXPORT\nSHIFT\nVDEF\nCDEF")
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 4096 {
			return
		}
		lines := strings.Split(script, "\n")
		source := newRamp(t)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p := graphdata.New(graphdata.Options{Start: 1200002000, End: 1200003000, Step: 2, Now: time.Unix(1200003000, 0).UTC()})
		for _, l := range lines {
			if p.Add(l) != nil {
				continue // the others must stand
			}
		}
		runtime.ReadMemStats(&after)
		if n, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+len(script)*len(script)*64); n > most {
			t.Errorf("reading %d bytes took %d bytes of memory", len(script), n)
		}
		if p.Run(t.Context(), source) != nil {
			return
		}
		if marks, err := p.Marks(1000); err == nil {
			for _, m := range marks {
				if len(m.Text) > 250 {
					t.Errorf("%d bytes are printed", len(m.Text))
				}
			}
		}
		g := p.Grid()
		if g.Step < 1 || g.Rows() < 0 {
			t.Fatalf("grid %+v", g)
		}
		for _, e := range p.Exports() {
			c := graphdata.NewCursor(p.Series(e.Variable))
			for at, n := g.Start+g.Step, 0; at <= g.End && n < 1000; at, n = at+g.Step, n+1 {
				numeral.Append(nil, c.At(at))
			}
		}
	})
}
