package rrdcached_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// TestCreatesTogetherAreAsByRRDTool: CREATEs that arrive together make the same series as rrdtool
// create makes of the same words one by one, seasons and all, and give its errors.
func TestCreatesTogetherAreAsByRRDTool(t *testing.T) {
	now := func() time.Time { return time.Unix(1_700_000_005, 0) }
	s := serve(t, rrdcached.Options{Now: now}, 0)
	other := enginetest.Open(t)
	var requests, want strings.Builder
	var names []string
	const rra = "RRA:AVERAGE:0.5:1:10 RRA:MAX:0.5:6:20"
	for i := range 300 {
		options := []string{"", "-s 10", "-b 1000000000", "-s 7 -b 1500000000", "-b 400000000 -s 60"}[i%5]
		parts := []string{
			"DS:x:GAUGE:20:U:U " + rra,
			"DS:x:COUNTER:20:0:100 DS:y:DERIVE:30:U:U " + rra,
			"DS:x:GAUGE:20:U:U RRA:AVERAGE:0.5:1:50 RRA:HWPREDICT:50:0.1:0.1:10",
			"DS:x:DCOUNTER:20:U:U DS:c:COMPUTE:x,2,* RRA:HWPREDICT:50:0.1:0.1:10:3 RRA:SEASONAL:10:0.1:2 RRA:DEVSEASONAL:10:0.1:2:smoothing-window=0.1",
			"DS:x:GAUGE:20:U:U",
			"DS:x:NONE:20:U:U " + rra,
			rra + " DS:x:GAUGE:20:U:U DS:x:GAUGE:20:U:U",
		}[i%7]
		name := fmt.Sprintf("host%d/a%d.rrd", i%7, i/2) // some twice
		names = append(names, name)
		fmt.Fprintf(&requests, "CREATE %s\n", strings.Join(strings.Fields(name+" "+options+" "+parts), " "))
		words := strings.Fields(strings.NewReplacer("-b 400000000", "--start 00:00_19800101+84467200s", "-b", "--start", "-s", "--step").Replace(options))
		for i := range words {
			words[i] = strings.Replace(words[i], "_", " ", 1)
		}
		var told bytes.Buffer
		env := &rrdtool.Env{Store: other, Stdout: &told, Stderr: &told, Now: now, Base: s.base, Location: time.UTC}
		if rrdtool.Run(context.Background(), env, slices.Concat([]string{"create"}, words, []string{"--", s.base + "/" + name}, strings.Fields(parts))) == 0 {
			want.WriteString("0 RRD created OK\n")
		} else {
			want.WriteString("-1 RRD Error: " + strings.TrimPrefix(told.String(), "ERROR: "))
		}
	}
	dial(t, s.addr).expect(requests.String(), want.String())
	made := 0
	for _, name := range names {
		ref, err := s.store.Lookup(name)
		ref2, err2 := other.Lookup(name)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%s: %v, by rrdtool %v", name, err, err2)
		}
		if err != nil {
			continue
		}
		got, err := s.store.Export(context.Background(), ref)
		if err != nil {
			t.Fatal(err)
		}
		copy2, err := other.Export(context.Background(), ref2)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Definition.Args(), copy2.Definition.Args()) || got.Path != copy2.Path || !slices.Equal(got.State.W, copy2.State.W) {
			t.Fatalf("%s: made\n%+v\nby rrdtool\n%+v", name, got, copy2)
		}
		made++
	}
	if made < 100 {
		t.Errorf("only %d series were made", made)
	}
}
