package rrdcached_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/query/rrd/rrdcached"
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
