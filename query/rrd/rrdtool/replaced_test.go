package rrdtool_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdtool"
)

// replacing is a store in which another takes the place of a series between its look-up and its
// update.
type replacing struct {
	rrdtool.Store
	t     *testing.T
	store *core.Store
	times int
}

func (r *replacing) Update(ctx context.Context, ref core.Ref, b *core.Batch) (int, error) {
	if r.times--; r.times >= 0 {
		same := func(c core.Copy) (core.Copy, error) { return c, nil }
		if _, err := r.store.Alter(ctx, "s", same); err != nil {
			r.t.Error(err)
		}
	}
	return r.store.Update(ctx, ref, b)
}

// TestUpdateOfReplaced: an update finds the series that has taken the place of its own.
func TestUpdateOfReplaced(t *testing.T) {
	store := enginetest.Open(t)
	run := func(s rrdtool.Store, args string) string {
		var out, errOut strings.Builder
		rrdtool.Run(t.Context(), &rrdtool.Env{Store: s, Stdout: &out, Stderr: &errOut}, strings.Fields(args))
		return out.String() + errOut.String()
	}
	if got := run(store, "create s -b 1000000000 -s 1 DS:x:GAUGE:9:U:U RRA:LAST:0:1:100"); got != "" {
		t.Fatal(got)
	}
	for i, times := range []int{0, 1, 2, 7} {
		at := 1_000_000_001 + i
		if got := run(&replacing{store, t, store, times}, fmt.Sprintf("update s %d:%d", at, i)); got != "" {
			t.Errorf("replaced %d times: %s", times, got)
		}
		if got := run(store, "last s"); got != fmt.Sprintln(at) {
			t.Errorf("last update %s", got)
		}
	}
}

// TestPipeOfReplaced: lines of pipe mode find it, too.
func TestPipeOfReplaced(t *testing.T) {
	store := enginetest.Open(t)
	done := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(done)
	var lines strings.Builder
	lines.WriteString("create s -b 1000000000 -s 1 DS:x:GAUGE:9:U:U RRA:LAST:0:1:100\n")
	for i := range 500 {
		fmt.Fprintf(&lines, "update s %d:1\n", 1_000_000_001+i)
	}
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_, _ = store.Alter(t.Context(), "s", func(c core.Copy) (core.Copy, error) { return c, nil }) // it is not there at first
		}
	})
	if got := piped(t, store, strings.NewReader(lines.String())); strings.Contains(got, "ERROR") {
		i := strings.Index(got, "ERROR")
		t.Errorf("%.200s", got[i:])
	}
}
