package rrdtool_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// A blind store cannot look anything up, as while a partition of a cluster has no leader.
type blind struct{ *core.Store }

func (blind) Lookup(string) (core.Ref, error) { return 0, enginetest.ErrAway }

func (blind) Metadata(string) (core.Metadata, error) { return core.Metadata{}, enginetest.ErrAway }

// A verb took a series that it could not look up for one that does not exist: create replaced it,
// and others said so.
func TestSeriesOutOfReachIsNotMissing(t *testing.T) {
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := s.Create(t.Context(), core.Spec{Path: "h/load.rrd", Definition: d, Start: rra.Seconds(1_000_000_000)})
	if err != nil {
		t.Fatal(err)
	}
	create := append([]string{"create", "h/load.rrd", "--start", "1000000100", "--step", "10"}, d.Args()...)
	for _, args := range [][]string{
		create,
		{"create", "b", "--source", "h/load.rrd", "DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"},
		{"list", "h/load.rrd"},
		{"list", "h/load.rrd/below"},
		{"info", "h/load.rrd"},
		{"info", "h/os"},
		{"fetch", "h/load.rrd", "AVERAGE"},
		{"lastupdate", "h/load.rrd"},
		{"first", "h/load.rrd"},
	} {
		var out, errs bytes.Buffer
		env := &rrdtool.Env{Store: blind{s}, Extra: blind{s}, KeepSame: true, Stdout: &out, Stderr: &errs, Location: time.UTC}
		if code := rrdtool.Run(t.Context(), env, args); code == 0 || !strings.Contains(errs.String(), "try again") {
			t.Errorf("%v: exit code %d, %s%s", args, code, &out, &errs)
		}
	}
	if now, err := s.Lookup("h/load.rrd"); err != nil || now != ref {
		t.Errorf("the series has the reference %d, %v, and had %d", now, err, ref)
	}
}
