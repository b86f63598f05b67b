package graphdata_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/graphdata"
)

func run(t *testing.T, o graphdata.Options, script string) (*graphdata.Program, error) {
	t.Helper()
	o.Now = time.Unix(1200003000, 0).UTC()
	p := graphdata.New(o)
	for l := range strings.SplitSeq(script, "\n") {
		if err := p.Add(l); err != nil {
			return nil, err
		}
	}
	return p, p.Run(t.Context(), newRamp(t))
}

// shown is the exported rows: their times behind 1200000000, and values.
func shown(p *graphdata.Program) string {
	g := p.Grid()
	var out []string
	cursors := make([]graphdata.Cursor, len(p.Exports()))
	for i, e := range p.Exports() {
		cursors[i] = graphdata.NewCursor(p.Series(e.Variable))
	}
	for at := g.Start + g.Step; at <= g.End; at += g.Step {
		values := make([]any, len(cursors))
		for i := range cursors {
			values[i] = cursors[i].At(at)
		}
		out = append(out, fmt.Sprintln(append([]any{fmt.Sprint(at-1200000000, ":")}, values...)...))
	}
	return strings.ReplaceAll(strings.Join(out, "; "), "\n", "")
}

func TestProgram(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		start, end, step      int64
		script, want, failure string
	}{
		{"rows end behind the start", 2000, 2030, 0, "DEF:a=a:x:AVERAGE\nXPORT:a", "2010: 201; 2020: 202; 2030: 203", ""},
		{"the range is widened", 2001, 2021, 0, "DEF:a=a:x:AVERAGE\nXPORT:a", "2010: 201; 2020: 202; 2030: 203", ""},
		{"rows are combined", 2000, 2060, 30, "DEF:a=a:x:AVERAGE:step=10\nXPORT:a", "2010: NaN; 2040: 203; 2070: 206", ""},
		{"by another function", 2010, 2040, 30, "DEF:a=a:x:AVERAGE:step=10:reduce=MAX\nXPORT:a", "2040: 204", ""},
		{"what is unknown does not count", 2040, 2070, 30, "DEF:a=a:y:AVERAGE:step=10\nXPORT:a", "2070: 206.5", ""},
		{"two steps", 2000, 2030, 0, "DEF:a=a:x:AVERAGE\nDEF:b=a:x:MAX:step=60\nXPORT:a\nXPORT:b", "2010: 201 34; 2020: 202 34; 2030: 203 34", ""},
		{"the second of a name", 2000, 2010, 0, "DEF:a=a:x:AVERAGE\nDEF:a=a:y:AVERAGE\nXPORT:a", "2010: 201", ""},
		{"the third of a name", 2000, 2010, 0, "DEF:a=a:x:AVERAGE\nDEF:a=a:y:AVERAGE\nDEF:a=a:y:AVERAGE", "", "trying to reuse vname a"},
		{"a DEF of a VDEF's name", 2000, 2010, 0, "DEF:a=a:x:AVERAGE\nVDEF:v=a,LAST\nDEF:v=a:y:AVERAGE\nXPORT:a", "2010: 201", ""},
		{"two DEFs of a VDEF's name", 2000, 2010, 0, "DEF:a=a:x:AVERAGE\nVDEF:v=a,LAST\nDEF:v=a:y:AVERAGE\nDEF:v=a:y:AVERAGE", "", "trying to reuse vname v"},
		{"a shift by whole rows", 2000, 2020, 0, "DEF:a=a:x:AVERAGE\nSHIFT:a:19\nXPORT:a", "2010: NaN; 2020: 201", ""},
		{"the last shift", 2000, 2010, 0, "DEF:a=a:x:AVERAGE:start=end-1h\nSHIFT:a:20\nSHIFT:a:10\nXPORT:a", "2010: 200", ""},
		{"a shift by a number", 2000, 2020, 0, "DEF:a=a:x:AVERAGE\nCDEF:b=a,POP,10,1,*\nVDEF:v=b,LAST\nSHIFT:a:v\nXPORT:a", "2010: NaN; 2020: 201", ""},
		{"a shift by nothing known", 2000, 2010, 0, "DEF:a=a:x:AVERAGE\nCDEF:b=a,POP,UNKN\nVDEF:v=b,LAST\nSHIFT:a:v\nXPORT:a", "2010: 201", ""},
		{"a number of a column", 2000, 2020, 0, "DEF:a=a:x:AVERAGE\nVDEF:v=a,MAXIMUM\nCDEF:b=a,v,-\nXPORT:b", "2010: -2; 2020: -1", ""},
		{"inside one row", 2000, 2010, 90, "DEF:a=a:x:AVERAGE:step=10\nXPORT:a", "", "SANITY CHECK: 18446744073709551607 rows cannot be reduced by 9 \n"},
		{"more rows than a column may have", 2000, 1 << 40, 1, "DEF:a=a:x:AVERAGE\nXPORT:a", "", "the range has 109951162578 rows, more than 4194304"},
		{"a variable of itself", 2000, 2010, 0, "DEF:a=a:x:AVERAGE\nCDEF:b=a,b,+", "", "don't understand 'b': it is not known yet"},
		{"no such data source", 2000, 2010, 0, "DEF:a=a:z:AVERAGE", "", "No DS called 'z' in 'a'"},
		{"a name with more than 19 bytes", 2000, 2010, 0, "DEF:a=a:recipienthostsdomains:AVERAGE\nXPORT:a", "2010: -201", ""},
		{"one of no data source", 2000, 2010, 0, "DEF:a=a:recipienthostsofdomains:AVERAGE", "", "No DS called 'recipienthostsofdom' in 'a'"},
		{"nothing", 2000, 2010, 0, "DEF", "", "No argument for definition of vdef/rrd in DEF"},
		{"another function", 2000, 2010, 0, "LIN:a", "", "'LIN' is not a valid function name in LIN:a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := run(t, graphdata.Options{Start: 1200000000 + tt.start, End: 1200000000 + tt.end, Step: tt.step}, tt.script)
			if err != nil || tt.failure != "" {
				if fmt.Sprint(err) != tt.failure {
					t.Errorf("got %v, want %s", err, tt.failure)
				}
				return
			}
			if got := shown(p); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}
