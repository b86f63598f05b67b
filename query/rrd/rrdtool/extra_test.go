package rrdtool_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
	"github.com/rondo-db/rondo/rra"
)

// TestExtra: info prints what rrdtool does not know after what it does, and only where it is asked
// to.
func TestExtra(t *testing.T) {
	s := enginetest.Open(t)
	d, err := rra.ParseDefinition(10, []string{"DS:v:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:10"})
	if err != nil {
		t.Fatal(err)
	}
	spec := core.Spec{Path: "h/load", Labels: []core.Label{{Name: "host", Value: "h\"1\""}}, Definition: d, Start: rra.Seconds(1_000_000_000)}
	if _, err := s.Create(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetMetadata(t.Context(), []core.PathMetadata{
		{Path: "h/load", Metadata: core.Metadata{Time: rra.Seconds(1_000_000_005), Attributes: []core.Label{{Name: "units", Value: "jobs"}}, Expire: 300}},
		{Path: "h/os", Metadata: core.Metadata{Time: rra.Seconds(1_000_000_006), Text: "Linux\n\"6\"", Expired: true}},
	}); err != nil {
		t.Fatal(err)
	}
	note := core.Note{Time: rra.Seconds(1_000_000_007), Severity: "failure", Text: "too high"}
	for _, key := range []string{"h/load", "h/load/other"} {
		if err := s.AddNote(t.Context(), key, note); err != nil {
			t.Fatal(err)
		}
	}
	run := func(extra rrdtool.Extra, args ...string) string {
		var out, errs bytes.Buffer
		env := &rrdtool.Env{Store: s, Extra: extra, Stdout: &out, Stderr: &errs, Location: time.UTC}
		if code := rrdtool.Run(t.Context(), env, args); code != 0 {
			return errs.String()
		}
		return out.String()
	}
	plain := run(nil, "info", "h/load")
	got, ok := strings.CutPrefix(run(s, "info", "h/load"), plain)
	if !ok {
		t.Fatalf("info does not begin with\n%s", plain)
	}
	want := `label[host] = "h\"1\""
metadata_time = 1000000005
attribute[units] = "jobs"
expire = 300
note[0].time = 1000000007
note[0].severity = "failure"
note[0].text = "too high"
`
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("info of a series (-want +got):\n%s", d)
	}
	want = `filename = "/h/os.rrd"
metadata_time = 1000000006
text = "Linux\n\"6\""
expired = 1
`
	if d := cmp.Diff(want, run(s, "info", "/h/os.rrd")); d != "" {
		t.Errorf("info of a text (-want +got):\n%s", d)
	}
	for _, e := range []rrdtool.Extra{nil, s} {
		if got := run(e, "info", "h/none"); !strings.HasPrefix(got, "ERROR: opening 'h/none'") {
			t.Errorf("info of nothing: %q", got)
		}
	}
}
