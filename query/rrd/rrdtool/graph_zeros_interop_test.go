package rrdtool_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/seedtest"
)

// TestZerosAsOriginal: a zero may have a sign, and the sign shows in what PRINT writes and in a
// division by it. Which of two zeros is the lowest, the highest or the last is as in rrdtool.
func TestZerosAsOriginal(t *testing.T) {
	r := seedtest.Rand(t)
	o := newOriginal(t)
	negative, positive := 0, 0
	for i := range seedtest.Programs(12, 10) {
		folder, mine := filepath.Join(o.dir, fmt.Sprint(i)), t.TempDir()
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		me := &rondo{store: newMemory(), now: time.Now(), loc: berlin(t)}
		create := []string{"create", "a.rrd", "-b", "1200000000", "-s", "10", "DS:x:GAUGE:60:U:U", "DS:z:COMPUTE:x,x,-,x,*"}
		cfs := []string{"AVERAGE", "MIN", "MAX", "LAST"}
		for _, cf := range cfs {
			create = append(create, fmt.Sprintf("RRA:%s:0.5:1:40", cf), fmt.Sprintf("RRA:%s:0.5:%d:20", cf, 2+r.IntN(3)))
		}
		update := []string{"update", "a.rrd"}
		for k := range 40 {
			update = append(update, fmt.Sprintf("%d:%s", 1200000010+10*k, []string{"-1", "1", "U"}[min(r.IntN(5)/2, 2)]))
		}
		for _, args := range [][]string{create, update} {
			if want, got := o.run(folder, args), me.run(args); want.Exit != 0 || got.Exit != 0 {
				t.Fatalf("%s: %v, %v", quoted(args), want, got)
			}
		}
		for range 5 {
			start, cf := 1200000000+10*r.IntN(30), cfs[r.IntN(4)]
			args := []string{
				"graphv", "o.png", "-s", fmt.Sprint(start), "-e", fmt.Sprint(start + 60 + 10*r.IntN(20)),
				fmt.Sprintf("DEF:z=a.rrd:z:%s:step=%d:reduce=%s", cf, 10*(1+r.IntN(5)), cfs[r.IntN(4)]), "CDEF:i=1,z,/", "LINE1:i",
				"CDEF:k=z,UN,0,z,IF", "CDEF:m=TIME,70,%,20,GT,k,1,k,/,IF",
			}
			for _, cf := range cfs {
				args = append(args, "PRINT:z:"+cf+":%le")
			}
			for k, f := range []string{"MINIMUM", "MAXIMUM", "AVERAGE", "LAST", "FIRST", "TOTAL", "0,PERCENT", "30,PERCENT", "50,PERCENTNAN"} {
				args = append(args, fmt.Sprintf("VDEF:v%d=k,%s", k, f), fmt.Sprintf("PRINT:v%d:%%le", k), fmt.Sprintf("VDEF:w%d=m,%s", k, f), fmt.Sprintf("PRINT:w%d:%%le", k))
			}
			for k, f := range []string{"z,0,MIN", "0,z,MAX", "z,i,0,GT,0,IF,z,2,SORT,-", "z,ABS", "z,-1,*", "z,z,2,AVG", "z,20,TREND", "z,0,z,3,SMIN", "z,0,z,3,SMAX", "PREV(z),z,MAX", "0,z,ADDNAN", "z,0,MINNAN"} {
				args = append(args, fmt.Sprintf("CDEF:c%d=%s", k, f), fmt.Sprintf("PRINT:c%d:MIN:%%le", k), fmt.Sprintf("PRINT:c%d:LAST:%%le", k))
			}
			me.now = time.Now()
			want, got := o.runFor(3*time.Second, folder, args), me.draw(files(mine), args)
			if d := cmp.Diff(numbers(want), numbers(got)); d != "" {
				t.Fatalf("program %d (-rrdtool +rondo):\ncd %s\nrrdtool %s\n%s", i, folder, quoted(args), d)
			}
			if want.Exit != 0 {
				t.Fatalf("%s: %v", quoted(args), want)
			}
			negative += strings.Count(want.Stdout, `"-0.0`)
			positive += strings.Count(want.Stdout, `"0.0`)
		}
	}
	t.Logf("%d zeros with a sign, %d without", negative, positive)
	if negative == 0 || positive == 0 {
		t.Error("zeros of one sign only were compared")
	}
}
