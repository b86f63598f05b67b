package router_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/rondo-db/rondo/cluster/router"
	"github.com/rondo-db/rondo/engine/core"
	"github.com/rondo-db/rondo/engine/enginetest"
	"github.com/rondo-db/rondo/rra"
	"github.com/rondo-db/rondo/wal"
)

// stores is a Directory of stores that lead for ever.
type stores []core.Engine

func (s stores) Partitions() int { return len(s) }

func (s stores) Leader(_ context.Context, p int) (core.Engine, error) { return s[p], nil }

func (s stores) Reader(_ context.Context, p int) (core.Engine, error) { return s[p], nil }

// openStores opens n stores. Each is checked when the test is over.
func openStores(t testing.TB, n int, o core.Options) stores {
	t.Helper()
	o.Sync = wal.SyncNone
	var s stores
	for range n {
		s = append(s, enginetest.OpenDir(t, t.TempDir(), o))
	}
	return s
}

func newRouter(t testing.TB, dir router.Directory, o router.Options) *router.Store {
	t.Helper()
	r, err := router.New(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func definition(t testing.TB, args ...string) *rra.Definition {
	t.Helper()
	d, err := rra.ParseDefinition(10, args)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func gauge(t testing.TB) *rra.Definition {
	t.Helper()
	return definition(t, "DS:a:GAUGE:20:U:U", "RRA:AVERAGE:0.5:1:20", "RRA:MAX:0.5:3:20")
}

// begin is when the series of the tests begin, in seconds.
const begin = 1_000_000_000

// pathIn returns the n-th path of a partition.
func pathIn(p, partitions, n int) string {
	for i := 0; ; i++ {
		if path := fmt.Sprintf("s%d", i); router.Partition(path, partitions) == p {
			if n--; n < 0 {
				return path
			}
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
