package rrdtool_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/internal/rrdtooltest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// compiledLocales returns a folder of locales for LOCPATH.
func compiledLocales(t *testing.T, names ...string) string {
	t.Helper()
	tool := rrdtooltest.Peer(t, "localedef")
	folder := t.TempDir()
	for _, name := range names {
		// It warns, and exits with 1 then.
		out, _ := exec.Command(tool, "-i", name, "-f", "UTF-8", filepath.Join(folder, name+".UTF-8")).CombinedOutput()
		if _, err := os.Stat(filepath.Join(folder, name+".UTF-8", "LC_TIME")); err != nil {
			rrdtooltest.Lacks(t, fmt.Sprintf("localedef cannot compile %s: %s", name, out))
		}
	}
	return folder
}

// TestGraphInLocales: the numbers of pictures and of what is printed beside them have the decimal
// point of LC_NUMERIC, which may have several bytes, and the numbers of data formats have a point.
func TestGraphInLocales(t *testing.T) {
	o := newOriginal(t)
	folder := compiledLocales(t, "de_DE", "fr_FR", "ru_RU", "ja_JP", "ps_AF")
	ours := &rondo{store: newMemory(), now: time.Unix(1_700_000_000, 0), loc: time.UTC}
	o.env = append(o.env, "TZ=UTC")
	pictures := files(t.TempDir())
	setup := [][]string{{"create", "t.rrd", "--start", "1699999800", "--step", "60", "DS:a:GAUGE:120:U:U", "RRA:AVERAGE:0.5:1:20"}}
	for i := range 5 {
		setup = append(setup, []string{"update", "t.rrd", fmt.Sprintf("%d:2%d.25", 1699999860+60*i, i+1)})
	}
	for _, args := range setup {
		if a, b := o.run(o.dir, args), ours.run(args); a != b || a.Exit != 0 {
			t.Fatalf("%q: rrdtool %v, rondo %v", args, a, b)
		}
	}
	in := []string{"-s", "1699999860", "-e", "1700000100", "DEF:a=t.rrd:a:AVERAGE"}
	prints := []string{
		"PRINT:a:MAX:%8.2lf °C. ", "PRINT:a:MAX:%09.3le|", "PRINT:a:MIN:%-9.1lf|", "PRINT:a:MIN:%#.0lf", "PRINT:a:MIN:%lg%s.", "CDEF:n=a,UNKN,*", "PRINT:n:MAX:%lf",
		"VDEF:p=a,95,PERCENT", "PRINT:p:%.1lf", "VDEF:m=a,MAXIMUM", "PRINT:m:%A. %B:strftime", "GPRINT:a:LAST:%6.2lf %S",
	}
	durations := []string{`PRINT:a:MAX:%d. %H\:%.3s:valstrfduration`, "GPRINT:a:MAX:%7.2s:valstrfduration", "PRINT:a:MAX:%Y:valstrftime"}
	var commands [][]string
	for _, c := range []struct {
		verb []string
		more [][]string
	}{
		{[]string{"graphv", "x.png"}, [][]string{
			{"LINE1.5:a#f00:1.5 x"},
			slices.Concat(prints, durations),
			{"-l", "0.25", "-u", "27.5", "-r", "HRULE:23.5#f00:1.5", "--right-axis", "0.1:0.5", "CDEF:b=a,1.5,*", "PRINT:b:MAX:%lf", "TICK:a#f00:0.5"},
			{"-l", "0,25", "LINE:a#f00"},
			{"HRULE:23,5#f00"},
			{"PRINT:a:MAX:%5,2lf"},
		}},
		{[]string{"graph", "x.png"}, [][]string{append(slices.Clone(prints), "LINE:a#f00"), append(slices.Clone(durations), "LINE:a#f00")}},
		{[]string{"graph", "-", "-a", "JSON"}, [][]string{append(slices.Clone(prints), "LINE:a#f00")}},
		{[]string{"graph", "-", "-a", "CSV"}, [][]string{append(slices.Clone(prints), "LINE:a#f00")}},
		{[]string{"xport"}, [][]string{append(slices.Clone(prints), "XPORT:a:x")}},
		{[]string{"xport", "--json"}, [][]string{append(slices.Clone(prints), "XPORT:a:x")}},
	} {
		for _, more := range c.more {
			commands = append(commands, slices.Concat(c.verb, in, more))
		}
	}
	for i, variables := range []string{
		"LC_ALL=de_DE.UTF-8", "LC_ALL=ps_AF.UTF-8", "LC_ALL=fr_FR.UTF-8", "LC_ALL=ru_RU.UTF-8", "LC_ALL=ja_JP.UTF-8",
		"LC_ALL= LC_NUMERIC=de_DE.UTF-8", "LC_ALL= LC_TIME=de_DE.UTF-8 LC_NUMERIC=C",
	} {
		env := append(strings.Fields(variables), "LOCPATH="+folder)
		their := *o
		their.env = append(slices.Clone(o.env), env...)
		if i >= 2 {
			commands = commands[:3]
		}
		for _, args := range commands {
			want, got := comparable(their.run(o.dir, args)), comparable(ours.in(env, pictures, args))
			if strings.Contains(variables, "ps_AF") { // a point that rondo's font does not have
				want.Stdout, got.Stdout = withoutPlaces(want.Stdout), withoutPlaces(got.Stdout)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s %q (-rrdtool +rondo):\n%s", variables, args, d)
			}
		}
	}
}

// withoutPlaces is what graphv prints without the lines that say where texts stand.
func withoutPlaces(out string) string {
	lines := strings.SplitAfter(out, "\n")
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "coords") }), "")
}

// in runs a command with environment variables.
func (r *rondo) in(env []string, f rrdtool.Files, args []string) answer {
	var out, errs bytes.Buffer
	code := rrdtool.Run(context.Background(), &rrdtool.Env{
		Store: r.store, Stdout: &out, Stderr: &errs, Location: r.loc, Now: func() time.Time { return r.now }, Rondo: true, Files: f,
		Getenv: func(name string) string {
			for _, v := range env {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		},
	}, args)
	return answer{out.String(), errs.String(), code}
}
