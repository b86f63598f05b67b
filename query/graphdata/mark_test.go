package graphdata_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/query/graphdata"
)

// TestMarks reads lines that print and draw. What is wanted was printed, and said, by rrdtool
// 1.7.2's xport.
func TestMarks(t *testing.T) {
	const data = "DEF:a=a:x:AVERAGE\nVDEF:m=a,MAXIMUM\nCDEF:k=a,1000,*\n"
	for _, tt := range []struct {
		name, script, want, failure string
	}{
		{"a VDEF", "PRINT:m:max %5.1lf%s", "PRINT max 205.0 ", ""},
		{"a column", "GPRINT:a:AVERAGE:%lf\nGPRINT:a:MIN:%lg\nGPRINT:a:LAST:%le", "GPRINT 203.000000; GPRINT 201; GPRINT 2.050000e+02", ""},
		{"a prefix that stays", "PRINT:k:MAX:%.0lf%s\nPRINT:m:%.3lf%S\nPRINT:m:%lf%s", "PRINT 205k; PRINT 0.205k; PRINT 205.000000 ", ""},
		{"percent", "PRINT:m:%%%lf%%%s%%", "PRINT %205.000000% %", ""},
		{"flags", "PRINT:m:%+lf\nPRINT:m:%08.2lf\nPRINT:m:%-8.2lf|\nPRINT:m:%#.0lf\nPRINT:m:% .0lE", "PRINT +205.000000; PRINT 00205.00; PRINT 205.00  |; PRINT 205.; PRINT  2E+02", ""},
		{"times", "PRINT:m:%H\\:%M\\:%S:strftime\nPRINT:a:LAST:%F:strftime", "PRINT 21:54:10; PRINT 2008-01-10", ""},
		{"texts", "COMMENT:a\\:b\\l\nTEXTALIGN:center\nCOMMENT:legend=c", `COMMENT a:b\l; TEXTALIGN center; COMMENT c`, ""},
		{"what is drawn", "LINE1:a#ff0000:leg\nAREA:a#0f0:green:STACK\nSTACK:m\nTICK:a#00f:0.5:t\nHRULE:5#fff:five\nVRULE:m#fff::dashes=1,2", "LINE leg; AREA   green; AREA ; TICK t; HRULE five; VRULE ", ""},
		{"nothing behind a wrong colour", "LINE1:a#ff:leg:STACK:x\nCOMMENT:not read\nfoo", "LINE ", ""},
		{"a format that is none", "PRINT:m:%d", "", `bad format for PRINT in "%d'`},
		{"two numbers", "GPRINT:m:%lf %lf", "", `bad format for PRINT in "%lf %lf'`},
		{"no format", "PRINT:m", "", "No positional CF/FORMAT"},
		{"no CF", "PRINT:a:%lf", "", "bad CF for DEF/CDEF: %lf"},
		{"no such name", "PRINT:q:%lf", "", "undefined vname q"},
		{"too much", "PRINT:m:%lf:x", "", `Unused Arguments "x" in command : PRINT:m:%lf:x`},
		{"an alignment that is none", "TEXTALIGN:top", "", "Unknown alignment type 'top'"},
		{"a width that is none", "LINEx:a", "", "Bad line width: x"},
		{"nothing to stack on", "STACK:a", "", "No previous LINE or AREA found for STACK:a"},
		{"a rule at a column", "HRULE:a", "", "Using vname a of wrong type in line HRULE:a\n"},
		{"dashes that are none", "LINE:a:x:dashes=1,y", "", "Could not parse number: y"},
		{"no fraction", "TICK:a", "", "No positional FRACTION"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := graphdata.Options{Start: 1200002000, End: 1200002040, Now: time.Unix(1200002100, 0).UTC()}
			p, err := run(t, o, data+tt.script)
			var marks []graphdata.Mark
			if err == nil {
				marks, err = p.Marks(1000)
			}
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != tt.failure {
				t.Fatalf("got %q, want %q", said, tt.failure)
			}
			names := map[graphdata.MarkKind]string{
				graphdata.PRINT: "PRINT", graphdata.GPRINT: "GPRINT", graphdata.COMMENT: "COMMENT", graphdata.TEXTALIGN: "TEXTALIGN", graphdata.LINE: "LINE",
				graphdata.AREA: "AREA", graphdata.STACK: "STACK", graphdata.TICK: "TICK", graphdata.HRULE: "HRULE", graphdata.VRULE: "VRULE",
			}
			var got []string
			for _, m := range marks {
				got = append(got, names[m.Kind]+" "+m.Text)
			}
			if d := cmp.Diff(tt.want, strings.Join(got, "; ")); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// TestStrftime formats a time with all conversions; the GNU C library gave what is wanted.
func TestStrftime(t *testing.T) {
	at := time.Date(2001, 9, 9, 7, 5, 40, 0, time.FixedZone("IST", 5*3600+1800))
	german := *graphdata.POSIXNames
	german.Days[0], german.Months[8], german.Date = "Sonntag", "September", "%d.%m.%Y"
	for _, tt := range []struct {
		names        *graphdata.Names
		format, want string
	}{
		{graphdata.POSIXNames, "%a %A %b %B %h", "Sun Sunday Sep September Sep"},
		{graphdata.POSIXNames, "%c|%x|%X|%r", "Sun Sep  9 07:05:40 2001|09/09/01|07:05:40|07:05:40 AM"},
		{graphdata.POSIXNames, "%C %d %e %D %F %g %G %H %I %j %k %l %m %M", "20 09  9 09/09/01 2001-09-09 01 2001 07 07 252  7  7 09 05"},
		{graphdata.POSIXNames, "%p %P %R %s %S %T %u %U %V %w %W %y %Y %z %Z", "AM am 07:05 999999340 40 07:05:40 7 36 36 0 36 01 2001 +0530 IST"},
		{graphdata.POSIXNames, "%-d|%_d|%3d|%-3d|%03e|%^a|%#Z|%10Y", "9| 9|009|  9|009|SUN|ist|0000002001"},
		{graphdata.POSIXNames, "%Ey %Od %EA %Q %5Q %", "01 09 %EA %Q   %5Q %"},
		{&german, "%A, %x", "Sonntag, 09.09.2001"},
		{&graphdata.Names{Date: "%x"}, "%x", ""}, // names that go around in a circle
	} {
		if got := tt.names.Strftime(tt.format, at); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.format, got, tt.want)
		}
	}
}
