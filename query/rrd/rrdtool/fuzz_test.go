package rrdtool_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// bounded takes so much and no more: a command must stop when nobody reads.
type bounded struct {
	strings.Builder
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errors.New("full")
	}
	b.left -= len(p)
	return b.Builder.Write(p)
}

func FuzzRun(f *testing.F) {
	f.Add("update\x00a.rrd\x00N:1:2")
	f.Add("update\x00-t\x00y:x\x00a.rrd\x001200000010.5:1:U\x00end-1d@1:2")
	f.Add("update\x00a.rrd\x00--\x00-1e300:1:2\x00nan:1:2\x001e18:1:2") // times that no integer holds
	f.Add("updatev\x00a.rrd\x001200090000:1:2")                         // a gap over every ring
	f.Add("fetch\x00a.rrd\x00AVERAGE\x00-s\x001/1/90\x00-e\x001/2")     // a range without end
	f.Add("fetch\x00-aes-1d\x00a.rrd\x00MAX\x00-r\x005m")
	f.Add("first\x00a.rrd\x00--rraindex=9223372036854775808")
	f.Add("list\x00-r\x00./..//a")
	f.Add("create\x00b.rrd\x00-t\x00a.rrd\x00-s\x007\x00DS:z:COMPUTE:x,y,+")
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		if args[0] == "create" && strings.Contains(line, "RRA:") {
			t.Skip("sizes of archives are package rra's to bound")
		}
		store := newMemory()
		run := func(args []string) (out, errs bounded, code int) {
			out.left, errs.left = 1<<20, 1<<20
			code = rrdtool.Run(t.Context(), &rrdtool.Env{
				Store: store, Stdout: &out, Stderr: &errs,
				Now: func() time.Time { return time.Unix(1200000100, 0) }, Location: time.UTC,
			}, args)
			return out, errs, code
		}
		run(strings.Fields("create a.rrd -b 1200000000 -s 10 DS:x:GAUGE:20:0:100 DS:y:COUNTER:20:U:U RRA:AVERAGE:0.5:1:50 RRA:MAX:0.5:3:20"))
		_, errs, code := run(args)
		if failed := strings.HasPrefix(errs.String(), "ERROR: "); failed != (code == 1) || code < 0 || code > 1 {
			t.Errorf("%q: exit code %d and message %q", args, code, errs.String())
		}
	})
}
