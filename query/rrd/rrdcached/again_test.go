package rrdcached_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
	"github.com/rondo-db/rondo/rra"
)

// TestAlteredMeanwhile: samples of series that are altered all the time are stored, each once, in
// order.
func TestAlteredMeanwhile(t *testing.T) {
	const rounds, updates, writers, start = 30, 200, 3, 1_000_000_000
	store := enginetest.Open(t)
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	for i := range writers {
		p.expect(fmt.Sprintf("CREATE s%d -s 1 -b %d DS:x:GAUGE:20:U:U RRA:LAST:0:1:20000\n", i, start), "0 RRD created OK\n")
	}
	done := make(chan struct{})
	var others, running sync.WaitGroup
	alter := func(path string) {
		_, err := store.Alter(t.Context(), path, func(c core.Copy) (core.Copy, error) { return c, nil })
		if err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		reader := dial(t, s.addr)
		others.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				alter(fmt.Sprintf("s%d", n%writers))
				if got := reader.ask(fmt.Sprintf("FETCH s%d LAST %d %[2]d", n%writers, start)); !strings.HasPrefix(got, "7 Success\n") {
					t.Errorf("fetch: %q", got)
				}
			}
		})
	}
	for i := range writers {
		w := dial(t, s.addr)
		running.Go(func() {
			at := start
			for range rounds {
				var b strings.Builder
				for range updates {
					at++
					fmt.Fprintf(&b, "UPDATE s%d %d:%d\n", i, at, at%1000)
				}
				running.Go(func() { w.send(b.String()) })
				for range updates {
					if got := w.line(); got != "0 errors, enqueued 1 value(s).\n" {
						t.Errorf("s%d: %q", i, got)
					}
				}
			}
		})
	}
	running.Wait()
	close(done)
	others.Wait()
	for i := range writers {
		const rows = rounds * updates
		got := p.ask(fmt.Sprintf("FETCH s%d LAST %d %d", i, start, start+rows-1))
		if n := strings.Count(got, "\n"); n != rows+7 || strings.Contains(got, "nan") {
			t.Errorf("s%d: %d lines of %d rows", i, n, rows)
		}
	}
}

// TestUpdateFitsTheSeriesThatIsThere: a client that has sent samples of a series goes on when the
// series has other data sources, which somebody else has given it.
func TestUpdateFitsTheSeriesThatIsThere(t *testing.T) {
	store := enginetest.Open(t)
	s := serve(t, rrdcached.Options{Store: store}, 0)
	// Each connection has the name of the former series before the series changes.
	change := func(i int, was, is, update, want string) {
		path := fmt.Sprintf("x%d", i)
		p := dial(t, s.addr)
		p.expect("CREATE "+path+" -s 1 -b 1000000000 "+was+" RRA:LAST:0:1:9\n", "0 RRD created OK\n")
		p.expect("UPDATE "+path+" 1000000001:1"+strings.Repeat(":1", strings.Count(was, " "))+"\n", "0 errors, enqueued 1 value(s).\n")
		overwrite(t, store, path, strings.Fields(is+" RRA:LAST:0:1:9"))
		p.expect("UPDATE "+path+" "+update+"\n", want+"\n")
		p.expect("UPDATE "+path+" 1000000007:2"+strings.Repeat(":2", strings.Count(is, " "))+"\n", "0 errors, enqueued 1 value(s).\n")
		if got := p.ask("INFO " + path + "\n"); !strings.Contains(got, "ds[a].last_ds 2 2\n") {
			t.Errorf("%s: %s", path, got)
		}
	}
	const (
		gauge   = "DS:a:GAUGE:20:U:U"
		counter = "DS:a:COUNTER:20:U:U"
		more    = " DS:b:GAUGE:20:U:U"
		one     = "0 errors, enqueued 1 value(s)."
		two     = "0 errors, enqueued 2 value(s)."
	)
	for i, tt := range []struct{ was, is, update, want string }{
		{gauge, counter, "1000000002:12345678901234567890 1000000003:U", two},
		{counter, gauge, "1000000002:18446744073709551615", one},
		{gauge, counter, "1000000002:2.50", "-1 not a simple unsigned integer: '2.50'"},
		{gauge, gauge + more, "1000000002:1:nan", one},
		{gauge + more, gauge, "1000000002:1e3 1000000003:7", two},
		{gauge, gauge + more, "1000000002:1", "-1 expected 2 data source readings (got 1) from 1000000002"},
		{gauge, counter + more, "1000000002.50:1", "-1 expected 2 data source readings (got 1) from 1000000002.5"},
		{gauge + more, counter, "1000000002:1:1.50", "-1 found extra data on update argument: 1.50"},
		{gauge + more, gauge, "1000000002:1:2:3", "-1 found extra data on update argument: 2"},
	} {
		change(i, tt.was, tt.is, tt.update, tt.want)
	}
}

// TestUpdatesAroundAnotherSeries: UPDATEs that were sent together with one that fits only the new
// series of a name are answered in order, in a BATCH as well.
func TestUpdatesAroundAnotherSeries(t *testing.T) {
	store := enginetest.Open(t)
	s := serve(t, rrdcached.Options{Store: store}, 0)
	p := dial(t, s.addr)
	for _, path := range []string{"x", "y"} {
		p.expect("CREATE "+path+" -s 1 -b 1000000000 DS:a:GAUGE:20:U:U RRA:LAST:0:1:9\n", "0 RRD created OK\n")
		p.expect("UPDATE "+path+" 1000000001:1\n", "0 errors, enqueued 1 value(s).\n")
	}
	overwrite(t, store, "x", []string{"DS:a:GAUGE:20:U:U", "DS:b:GAUGE:20:U:U", "RRA:LAST:0:1:9"})
	p.send("UPDATE y 1000000002:1\nUPDATE x 1000000002:1\nUPDATE x 1000000003:1:2\nUPDATE x 1000000004:1:2:3\nUPDATE y 1000000003:1\n")
	for _, want := range []string{
		"0 errors, enqueued 1 value(s).", "-1 expected 2 data source readings (got 1) from 1000000002", "0 errors, enqueued 1 value(s).",
		"-1 found extra data on update argument: 3", "0 errors, enqueued 1 value(s).",
	} {
		if got := p.line(); got != want+"\n" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	overwrite(t, store, "x", []string{"DS:a:GAUGE:20:U:U", "RRA:LAST:0:1:9"})
	p.expect("BATCH\n", "0 Go ahead.  End with dot '.' on its own line.\n")
	p.send("UPDATE y 1000000004:1\nUPDATE x 1000000005:1\nUPDATE x 1000000006:1:2\n.\n")
	for _, want := range []string{"1 errors", "3 found extra data on update argument: 2"} {
		if got := p.line(); got != want+"\n" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	p.expect("LAST x\n", "0 1000000005\n")
}

// overwrite makes a series anew.
func overwrite(t *testing.T, store *core.Store, path string, definition []string) {
	t.Helper()
	d, err := rra.ParseDefinition(1, definition)
	if err != nil {
		t.Fatal(err)
	}
	out, err := store.CreateBatch(t.Context(), []core.Spec{{Path: path, Definition: d, Start: rra.Seconds(1_000_000_001), Overwrite: true}})
	if err != nil || out[0].Err != nil {
		t.Fatal(err, out)
	}
}
