package sink_test

import (
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/receivers"
	"github.com/rondo-db/rondo/receivers/sink"
	"github.com/rondo-db/rondo/rra"
)

// TestKnown: a definition was made for each series, and the archives of its rule were parsed each
// time. Series whose rule, step and kind are the same share one, and no others do.
func TestKnown(t *testing.T) {
	rules := []sink.Rule{
		{Path: "a/**", Heartbeat: 600, Archives: []string{"RRA:AVERAGE:0.5:5m:1h"}},
		{Path: "b/**", Archives: []string{"RRA:AVERAGE:0.5:5m:1h"}, Sources: []string{"DS:n:DERIVE:20:0:U"}},
		{Path: "bad/**", Archives: []string{"RRA:AVERAGE:0.5:5m:1h"}},
	}
	p, err := sink.NewPolicy(rules)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[*rra.Definition]string)
	ask := func(path string, untyped bool, step int64, rows int64, kind rra.Kind) string {
		d, err := p.DefineRequest(&receivers.Request{
			Identity: receivers.Identity{Path: path}, Untyped: untyped,
			Define: func(int64) *rra.Definition {
				d := receivers.StandardDefinition(step)
				d.Sources[0].Kind = kind
				d.Archives[0].Rows += rows
				return d
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if all[d] == "" {
			all[d] = fmt.Sprint(path, untyped, step, rows, kind)
		}
		return all[d]
	}
	for range 3 {
		for _, path := range []string{"a/", "b/", "c/"} {
			for _, untyped := range []bool{false, true} {
				for step := range int64(3) {
					for rows := range int64(2) {
						first := ask(path+"first", untyped, 10+10*step, rows, rra.Gauge)
						if second := ask(path+"second", untyped, 10+10*step, rows, rra.Gauge); first != second {
							t.Errorf("%q and %q are two", first, second)
						}
						ask(path+"first", untyped, 10+10*step, rows, rra.Derive)
					}
				}
			}
		}
	}
	// Of rule b untyped requests of all kinds have its sources; of rules a and b the archives that
	// the protocol asked for make no difference.
	if want := 3*2 + 3*(2+1) + 3*2*2; len(all) != want {
		t.Errorf("%d definitions, want %d: %v", len(all), want, all)
	}
	d := define(10)
	d.Step = 0
	for range 2 {
		_, err := p.Define(receivers.Identity{Path: "bad/x"}, func(int64) *rra.Definition { return d })
		if err == nil || err.Error() != "rule 3: archives: for step 0: step: 0 is not in 1..2147483648" {
			t.Errorf("step 0: error %v", err)
		}
	}
}

// TestKnownBound: a sender that invents a step for each series leaves no more definitions behind
// than are kept, and none that is large.
func TestKnownBound(t *testing.T) {
	p, err := sink.NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(d *rra.Definition) *rra.Definition {
		made, err := p.Define(receivers.Identity{Path: "a"}, func(int64) *rra.Definition { return d })
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for step := range int64(10_000) {
		d := define(1 + step)
		if got := ask(d); got != d {
			t.Fatalf("step %d: the definition of another series", 1+step)
		}
		if n := p.Known(); n > sink.MostKnown {
			t.Fatalf("%d definitions are kept", n)
		}
	}
	large := define(10)
	for len(large.Sources) < 100 {
		large.Sources = append(large.Sources, large.Sources[0])
	}
	n := p.Known()
	if ask(large); p.Known() != n {
		t.Error("a large definition is kept")
	}
}
